package chaintest

import (
	"errors"
	"math/big"

	"github.com/conchhq/conch/chain"
)

// quote checks that what is tried out is what would be signed, and that nothing is signed, sent or used up by it: no nonce, and no money. It
// needs no key.
func quote(t *trial) {
	before, next := t.state(t.Funded), t.next()
	ask := func(a chain.Account, call chain.Call, wants error) chain.Quote {
		t.Helper()
		q, err := t.Chain.Quote(t.ctx, a, call, chain.Normal)
		t.ok(err)
		if !errors.Is(q.Fault, wants) || (wants == nil) != (q.Fault == nil) {
			t.Errorf("a call of %v fails with %v, want %v", a, q.Fault, wants)
		}
		if q.Block.Hash != before.Block.Hash || q.By == "" || q.Suggested.Max.Cmp(q.Least.Max) < 0 || q.Least.Max.Sign() < 0 {
			t.Errorf("got quote %+v at %+v", q, before.Block)
		}
		return q
	}
	plain := t.call()
	q := ask(t.Funded, plain, nil)
	signed := t.prepare(chain.Draft{Account: t.Funded, Index: next, Call: plain})[0]
	if q.Gas != signed.Gas || q.Balance.Cmp(before.Balance) != 0 || q.Suggested.Max.Cmp(signed.Fee.Max) != 0 || q.Suggested.Tip.Cmp(signed.Fee.Tip) != 0 {
		t.Errorf("quoted %+v, and signed %d gas at %+v", q, signed.Gas, signed.Fee)
	}
	ask(t.Stranger, plain, nil) // without a key, and without money that it would need
	t.quoteFaults(ask, before)
	if after := t.state(t.Funded); after.Next != next || after.Balance.Cmp(before.Balance) != 0 {
		t.Errorf("after quotes the account is %+v, it was %+v", after, before)
	}
	_, err := t.Down.Quote(t.ctx, t.Funded, plain, chain.Normal)
	t.wants(err, chain.ErrUnreachable)
}

// quoteFaults checks what a quote says of calls that would have no effect.
func (t *trial) quoteFaults(ask func(chain.Account, chain.Call, error) chain.Quote, before chain.AccountState) {
	t.Helper()
	plain := t.call()
	if !t.NoTrial {
		if bad := ask(t.Funded, t.Bad, chain.ErrCall); bad.Gas != 0 {
			t.Errorf("a call that fails has the gas %d", bad.Gas)
		}
		ask(t.Funded, t.failing(), chain.ErrCall)
		plain.Value = new(big.Int).Add(before.Balance, big.NewInt(1))
		ask(t.Funded, plain, chain.ErrFunds)
	}
	if plain.Value = nil; !t.NoGas {
		plain.Gas = 1
		ask(t.Funded, plain, chain.ErrCall)
	}
}
