package chaintest

import (
	"cmp"
	"slices"

	"github.com/conchhq/conch/chain"
)

// reap checks that the end of an account is in its block, behind its transactions; that its nonces begin anew, once somebody funds
// it; that the same bytes are then good once more; and what a claim about its end is answered.
func reap(t *trial) {
	t.need(t.Reap != nil, "reap an account")
	d, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	if !d.Lives {
		t.Fatal("an account can cease to exist, and the description says that none does")
	}
	if first := t.next(); first != 0 {
		t.Fatalf("the fixture's account begins with nonce %d", first)
	}
	old := t.attempts(2)
	t.submit(chain.Accepted, old[0])
	t.Mine()
	t.submit(chain.Accepted, old[1])
	t.Reap()
	t.Mine()
	end := t.head()
	in, err := t.Chain.Inclusions(t.ctx, end, []chain.Account{t.Funded, t.Poor})
	t.ok(err)
	if len(in) != 2 || in[0].Hash != old[1].Hash || in[0].Reaped || in[1] != (chain.Inclusion{Account: t.Funded, Block: in[0].Block, Reaped: true}) {
		t.Fatalf("the block has %+v, want the second transaction, and then the account's end", in)
	}
	if n := t.next(); n != 0 {
		t.Errorf("it has ceased to exist, and its next nonce is %d", n)
	}
	draft := chain.Draft{Account: t.Funded, Call: t.call()}
	refused, err := t.Chain.Prepare(t.ctx, []chain.Draft{draft})
	t.ok(err)
	t.wants(refused[0].Err, chain.ErrFunds)
	t.Fund()
	anew := t.prepare(draft, chain.Draft{Account: t.Funded, Index: 1, Filler: true, Brief: true})
	if d.Era > 0 && cmp.Compare(anew[1].Until, anew[0].Until) >= 0 {
		t.Errorf("a brief attempt is good until %d, another one until %d", anew[1].Until, anew[0].Until)
	}
	t.submit(chain.Accepted, old[0]) // anybody can do so
	t.Mine()
	head := t.head()
	found, next, err := t.Chain.Scan(t.ctx, head, t.Funded, 1, int(head.Number))
	t.ok(err)
	var got []chain.Hash
	for _, one := range found {
		got = append(got, one.Hash)
	}
	if want := []chain.Hash{old[0].Hash, old[1].Hash, "", old[0].Hash}; !slices.Equal(got, want) || next != head.Number+1 {
		t.Errorf("reading finds %v up to %d, want %v", found, next, want)
	}
	claimReaped(t, d, in[1], head)
}

// claimReaped checks what is said of the end of an account, and of an end that there was not.
func claimReaped(t *trial, d chain.Description, end chain.Inclusion, head chain.Block) {
	t.need(t.Final != nil, "finalize")
	t.Final()
	t.Mine()
	t.Final()
	none := end
	none.Block = head
	said, err := t.Chain.Confirm(t.ctx, []chain.Claim{{Inclusion: end, By: d.By, At: end.Block}, {Inclusion: none, By: d.By, At: end.Block}})
	t.ok(err)
	if said[0].Stand != chain.Agrees || said[1].Stand != chain.Differs || said[1].Why == "" {
		t.Errorf("of its end is said %+v, of one in another block %+v; want that one agrees, and that the other differs, and why", said[0], said[1])
	}
}
