package chaintest

import (
	"errors"
	"math/big"

	"github.com/conchhq/conch/chain"
)

func describe(t *trial) {
	d, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	if d.ID == "" || d.MaxBatch < 1 || d.MinRaise < 0 || d.MaxPending < 0 {
		t.Errorf("got description %+v, want an ID, a batch above 0 and no negative number", d)
	}
	again, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	if d != again {
		t.Errorf("got description %+v, then %+v, want the same", d, again)
	}
}

func next(t *trial) {
	first := t.next()
	t.submit(chain.Accepted, t.attempts(2)...)
	if got := t.next(); got != first {
		t.Errorf("with two transactions in the pool the next nonce is %d, want %d", got, first)
	}
	t.Mine()
	if got := t.next(); got != first+2 {
		t.Errorf("with two transactions in a block the next nonce is %d, want %d", got, first+2)
	}
	if n, err := t.Chain.Next(t.ctx, t.Stranger); err != nil || n != 0 {
		t.Errorf("of an account that never sent: got next nonce %d, %v, want 0", n, err)
	}
}

func prepare(t *trial) {
	first := t.next()
	drafts := []chain.Draft{
		{Account: t.Funded, Index: first, Call: t.transfer(t.Stranger, big.NewInt(7), "hello")},
		{Account: t.Stranger, Index: 0, Call: t.call()},
		{Account: t.Funded, Index: first + 1, Call: t.call(), Filler: true},
	}
	all, err := t.Chain.Prepare(t.ctx, drafts)
	t.ok(err)
	if len(all) != 3 || all[0].Err != nil || all[2].Err != nil {
		t.Fatalf("got %+v, want three results, the first and the third without an error", all)
	}
	t.wants(all[1].Err, chain.ErrKey)
	for _, i := range []int{0, 2} {
		s := all[i].Signed
		if s.Account != t.Funded || s.Index != drafts[i].Index || s.Hash == "" || len(s.Bytes) == 0 || s.Gas == 0 || s.Fee.None() || s.Filler != drafts[i].Filler {
			t.Errorf("draft %d: got %+v, want its account, nonce and whether it is a filler, and hash, bytes, gas and fee", i, s)
		}
	}
	t.seen("nowhere", all[0].Signed, all[2].Signed)
	t.submit(chain.Accepted, all[0].Signed, all[2].Signed)
	t.Mine()
	t.seen("included", all[0].Signed, all[2].Signed)
}

func refuse(t *trial) {
	d, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	at := t.next()
	one := big.NewInt(1)
	type refusal struct {
		what  string
		draft chain.Draft
		want  error
	}
	cases := []refusal{
		{"no key", chain.Draft{Account: t.Stranger, Call: t.call()}, chain.ErrKey},
		{"no funds", chain.Draft{Account: t.Poor, Call: t.call()}, chain.ErrFunds},
		{"what the account has, and owes", chain.Draft{Account: t.Funded, Index: at, Call: t.call(), Owed: new(big.Int).Lsh(one, 120)}, chain.ErrOwed},
		{"no funds, and it owes", chain.Draft{Account: t.Poor, Call: t.call(), Owed: one}, chain.ErrFunds},
		{"a maximum below any fee", chain.Draft{Account: t.Funded, Index: at, Call: t.call(), Most: chain.Fee{Max: one, Tip: one}}, chain.ErrFee},
	}
	if !t.NoTrial {
		cases = append(cases, refusal{"a call that fails", chain.Draft{Account: t.Funded, Index: at, Call: t.Bad}, chain.ErrCall},
			refusal{"a value above the balance", chain.Draft{Account: t.Funded, Index: at, Call: chain.Call{
				To: []byte(t.Stranger), Value: new(big.Int).Lsh(one, 120), Gas: 100_000,
			}}, chain.ErrFunds})
	}
	if !t.NoGas {
		cases = append(cases, refusal{"less gas than any transaction takes", chain.Draft{Account: t.Funded, Index: at, Call: chain.Call{To: []byte(t.Stranger), Gas: 1}}, chain.ErrCall})
	}
	if d.BlockGas > 0 {
		cases = append(cases, refusal{"more gas than a block has", chain.Draft{Account: t.Funded, Index: at, Call: chain.Call{To: []byte(t.Stranger), Gas: d.BlockGas + 1}}, chain.ErrCall})
	}
	drafts := make([]chain.Draft, 0, len(cases)+1)
	for _, c := range cases {
		drafts = append(drafts, c.draft)
	}
	drafts = append(drafts, chain.Draft{Account: t.Funded, Index: at, Call: t.call()})
	all, err := t.Chain.Prepare(t.ctx, drafts)
	t.ok(err)
	for i, c := range cases {
		t.Log(c.what, ":", all[i].Err)
		t.wants(all[i].Err, c.want)
		if owed := errors.Is(all[i].Err, chain.ErrOwed); owed != errors.Is(c.want, chain.ErrOwed) {
			t.Errorf("%s: got %v, want ErrOwed only for what could be paid later", c.what, all[i].Err)
		}
		if len(all[i].Bytes) > 0 {
			t.Errorf("%s: got an attempt and an error, want the error alone", c.what)
		}
	}
	if last := all[len(all)-1]; last.Err != nil {
		t.Errorf("a good draft among bad ones: got error %v, want none", last.Err)
	}
}

// fillerAboveTheBlock fills a slot whose call has more gas than a block has now.
func fillerAboveTheBlock(t *trial) {
	d, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	t.need(d.BlockGas > 0, "run out of gas")
	if s := t.filler(d.BlockGas + 1); s.Gas == 0 || s.Gas > d.BlockGas {
		t.Errorf("got a filler with %d gas, want between 1 and %d, which a block has", s.Gas, d.BlockGas)
	}
}

// fillerBelowAnyTransaction fills a slot whose call has too little gas for any transaction.
func fillerBelowAnyTransaction(t *trial) { t.filler(1) }

// filler gets a filler into the chain. It must have its own gas, not that of the call, or the
// account is stuck for good.
func (t *trial) filler(gas uint64) chain.Signed {
	t.Helper()
	s := t.prepare(chain.Draft{Account: t.Funded, Index: t.next(), Filler: true, Call: chain.Call{Gas: gas}})[0]
	t.submit(chain.Accepted, s)
	t.Mine()
	t.seen("included", s)
	return s
}

func raise(t *trial) {
	d, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	old := t.attempts(1)[0]
	draft := chain.Draft{Account: t.Funded, Index: old.Index, Call: t.call(), Above: old.Fee}
	raised := t.prepare(draft)[0]
	enough := func(what string, now, before *big.Int) {
		if before == nil || before.Sign() == 0 {
			return
		}
		if least := new(big.Int).Mul(before, big.NewInt(int64(100+d.MinRaise))); new(big.Int).Mul(now, big.NewInt(100)).Cmp(least) < 0 {
			t.Errorf("%s went from %v to %v, want at least %d %% more", what, before, now, d.MinRaise)
		}
	}
	enough("the price", raised.Fee.Max, old.Fee.Max)
	enough("the tip", raised.Fee.Tip, old.Fee.Tip)
	if raised.Hash == old.Hash {
		t.Error("the raised attempt has the hash of the first one, want another")
	}
	draft.Most = old.Fee
	all, err := t.Chain.Prepare(t.ctx, []chain.Draft{draft})
	t.ok(err)
	t.wants(all[0].Err, chain.ErrFee)
}
