package chaintest

import (
	"math/big"

	"github.com/conchhq/conch/chain"
)

func describe(t *trial) {
	d, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	if d.ID == "" || d.MaxBatch < 1 || d.MinRaise < 0 || d.MaxPending < 0 {
		t.Errorf("described as %+v", d)
	}
	again, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	if d != again {
		t.Errorf("described as %+v, then as %+v", d, again)
	}
}

func next(t *trial) {
	first := t.next(chain.Best)
	t.submit(chain.Accepted, t.attempts(2)...)
	if got := t.next(chain.Best); got != first {
		t.Errorf("with two in the pool the next is %d, want %d: a pool does not count", got, first)
	}
	t.Mine()
	if got := t.next(chain.Best); got != first+2 {
		t.Errorf("with two in a block the next is %d, want %d", got, first+2)
	}
	if n, err := t.Chain.Next(t.ctx, t.Stranger, chain.Best); err != nil || n != 0 {
		t.Errorf("an account that never sent: %d, %v", n, err)
	}
}

func nextFinal(t *trial) {
	t.need(t.Final != nil, "finalize")
	t.Final()
	first := t.next(chain.Final)
	t.submit(chain.Accepted, t.attempts(1)...)
	t.Mine()
	if best, final := t.next(chain.Best), t.next(chain.Final); best != first+1 || final != first {
		t.Errorf("best %d, final %d, want %d and %d", best, final, first+1, first)
	}
	t.Final()
	if final := t.next(chain.Final); final != first+1 {
		t.Errorf("final %d after the block was finalized, want %d", final, first+1)
	}
}

func prepare(t *trial) {
	first := t.next(chain.Best)
	drafts := []chain.Draft{
		{Account: t.Funded, Index: first, Call: chain.Call{To: []byte(t.Stranger), Value: big.NewInt(7), Data: []byte("hello")}},
		{Account: t.Stranger, Index: 0, Call: t.call()},
		{Account: t.Funded, Index: first + 1, Call: t.call(), Filler: true},
	}
	all, err := t.Chain.Prepare(t.ctx, drafts)
	t.ok(err)
	if len(all) != 3 || all[0].Err != nil || all[2].Err != nil {
		t.Fatalf("%+v", all)
	}
	t.wants(all[1].Err, chain.ErrKey)
	for _, i := range []int{0, 2} {
		s := all[i].Signed
		if s.Account != t.Funded || s.Index != drafts[i].Index || s.Hash == "" || len(s.Bytes) == 0 || s.Gas == 0 || s.Fee.None() {
			t.Errorf("draft %d became %+v", i, s)
		}
	}
	t.seen(chain.Nowhere, all[0].Signed, all[2].Signed)
	t.submit(chain.Accepted, all[0].Signed, all[2].Signed)
	t.Mine()
	t.seen(chain.Included, all[0].Signed, all[2].Signed)
}

func refuse(t *trial) {
	d, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	at := t.next(chain.Best)
	one := big.NewInt(1)
	cases := []struct {
		what  string
		draft chain.Draft
		want  error
	}{
		{"no key", chain.Draft{Account: t.Stranger, Call: t.call()}, chain.ErrKey},
		{"no funds", chain.Draft{Account: t.Poor, Call: t.call()}, chain.ErrFunds},
		{"more than there is", chain.Draft{Account: t.Funded, Index: at, Call: chain.Call{
			To: []byte(t.Stranger), Value: new(big.Int).Lsh(one, 120), Gas: 100_000,
		}}, chain.ErrFunds},
		{"a call that fails", chain.Draft{Account: t.Funded, Index: at, Call: t.Bad}, chain.ErrCall},
		{"less gas than anything takes", chain.Draft{Account: t.Funded, Index: at, Call: chain.Call{To: []byte(t.Stranger), Gas: 1}}, chain.ErrCall},
		{"a fee that nobody takes", chain.Draft{Account: t.Funded, Index: at, Call: t.call(), Most: chain.Fee{Max: one, Tip: one}}, chain.ErrFee},
	}
	if d.BlockGas > 0 {
		cases = append(cases, struct {
			what  string
			draft chain.Draft
			want  error
		}{"more gas than a block has", chain.Draft{Account: t.Funded, Index: at, Call: chain.Call{To: []byte(t.Stranger), Gas: d.BlockGas + 1}}, chain.ErrCall})
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
		if len(all[i].Bytes) > 0 {
			t.Errorf("%s: there is an attempt all the same", c.what)
		}
	}
	if last := all[len(all)-1]; last.Err != nil {
		t.Errorf("a sound draft among bad ones: %v", last.Err)
	}
}

// spacious: what a slot was given to spend may be above what a block has today. Then
// only a filler can use the slot up, and it must not ask for as much.
func spacious(t *trial) {
	d, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	t.need(d.BlockGas > 0, "run out of gas")
	if s := t.filler(d.BlockGas + 1); s.Gas == 0 || s.Gas > d.BlockGas {
		t.Errorf("a filler may spend %d gas, a block has %d", s.Gas, d.BlockGas)
	}
}

// meagre: what a slot was given may as well be less than any transaction takes. A filler
// with as little would never be taken, and the account be stuck for good.
func meagre(t *trial) { t.filler(1) }

// filler is one for a slot whose call was given that much gas; it gets into the chain.
func (t *trial) filler(gas uint64) chain.Signed {
	t.Helper()
	s := t.prepare(chain.Draft{Account: t.Funded, Index: t.next(chain.Best), Filler: true, Call: chain.Call{Gas: gas}})[0]
	t.submit(chain.Accepted, s)
	t.Mine()
	t.seen(chain.Included, s)
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
			t.Errorf("%s went from %v to %v, less than %d %% more", what, before, now, d.MinRaise)
		}
	}
	enough("the price", raised.Fee.Max, old.Fee.Max)
	enough("the tip", raised.Fee.Tip, old.Fee.Tip)
	if raised.Hash == old.Hash {
		t.Error("a raised attempt has the hash of the one it raises")
	}
	draft.Most = old.Fee
	all, err := t.Chain.Prepare(t.ctx, []chain.Draft{draft})
	t.ok(err)
	t.wants(all[0].Err, chain.ErrFee)
}
