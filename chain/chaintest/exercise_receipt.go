package chaintest

import (
	"math/big"

	"github.com/conchhq/conch/chain"
)

// receipt checks that the receipts of a block say what it cost the account, and that none is given for another block.
func receipt(t *trial) {
	t.need(t.Reorg != nil, "take back a block")
	first := t.next()
	bad := t.failing()
	before := t.state(t.Funded)
	ours := t.prepare(chain.Draft{Account: t.Funded, Index: first, Call: t.call()}, chain.Draft{Account: t.Funded, Index: first + 1, Call: bad})
	t.submit(chain.Accepted, ours...)
	t.Mine()
	paid := new(big.Int)
	places := t.seen("included", ours...)
	at := places[0].Block
	for i, s := range ours {
		in := chain.Inclusion{Account: t.Funded, Index: s.Index, Hash: s.Hash, Block: at, Effect: places[i].Effect}
		r, err := chain.Witnessed(t.ctx, t.Chain, in)
		t.ok(err)
		if r.Inclusion != in || r.GasUsed == 0 || r.GasUsed > s.Gas || r.GasPrice.Sign() <= 0 || r.GasPrice.Cmp(s.Fee.Max) > 0 || r.AllLogs != 0 || r.By[0] == "" || r.By[1] == "" {
			t.Errorf("attempt %d: got receipt %+v", i, r)
		}
		paid.Add(paid, r.Fee())
		in.Effect = chain.EffectOf(i == 0)
		_, err = t.Chain.Receipt(t.ctx, in)
		t.wants(err, chain.ErrDisagree)
		in.Effect, in.Block.Hash = places[i].Effect, nowhere
		_, err = t.Chain.Receipt(t.ctx, in)
		t.wants(err, chain.ErrNotFound)
	}
	after := t.state(t.Funded)
	if got := new(big.Int).Sub(before.Balance, after.Balance); got.Cmp(paid) != 0 || after.Next != first+2 || after.Block.Hash == before.Block.Hash {
		t.Errorf("the account has paid %v, and its receipts say %v; it was %+v and is %+v", got, paid, before, after)
	}
	t.Reorg(1, nil)
	_, err := t.Chain.Receipt(t.ctx, chain.Inclusion{Account: t.Funded, Index: first, Hash: ours[0].Hash, Block: at})
	t.wants(err, chain.ErrNotFound)
}

// state returns how an account stands, and checks that another one, asked for with it, is as of the same block.
func (t *trial) state(a chain.Account) chain.AccountState {
	t.Helper()
	all, err := t.Chain.AccountStates(t.ctx, []chain.Account{t.Poor, a})
	t.ok(err)
	if len(all) != 2 || all[0].Account != t.Poor || all[1].Account != a || all[0].Balance.Sign() != 0 || all[1].By == "" || all[0].Block.Hash != all[1].Block.Hash {
		t.Fatalf("got %+v", all)
	}
	return all[1]
}
