package chaintest

import (
	"slices"
	"strings"

	"github.com/conchhq/conch/chain"
)

// head returns the head.
func (t *trial) head() chain.Block {
	t.Helper()
	turn, stop := t.heads(chain.Block{})
	defer stop()
	return t.expect(turn, "+")[0]
}

// scan checks that blocks are read in steps, up to a block, and no transaction is missed.
func scan(t *trial) {
	ours := t.attempts(3)
	var want []chain.Inclusion
	for _, s := range ours {
		t.submit(chain.Accepted, s)
		t.Mine()
		t.Mine()
		at := t.seen("included", s)[0].Block
		want = append(want, chain.Inclusion{Account: t.Funded, Index: s.Index, Hash: s.Hash, Block: at, Effect: chain.EffectOf(false)})
	}
	head := t.head()
	for most := 1; most < 9; most += 3 {
		var got []chain.Inclusion
		from := uint64(0)
		for {
			found, next, err := t.Chain.Scan(t.ctx, head, t.Funded, from, most)
			t.ok(err)
			for _, one := range found {
				one.Block.Parent = ""
				got = append(got, one)
			}
			if next == from {
				break
			}
			if next > from+uint64(most) {
				t.Fatalf("from block %d: got %d to go on with, want %d more at most", from, next, most)
			}
			from = next
		}
		for i := range want {
			want[i].Block.Parent = ""
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d blocks at a time: got %+v, want %+v", most, got, want)
		}
	}
}

// prove checks that a transaction is read with its call, also one that others signed (W3).
func prove(t *trial) {
	t.need(t.Foreign != nil && t.Seal != nil, "include a foreign transaction")
	call := t.transfer(t.Stranger, nil, "hello")
	if !t.NoGas {
		call.Gas = 100_000
	}
	first := t.next()
	ours := t.prepare(chain.Draft{Account: t.Funded, Index: first, Call: call})[0]
	foreign := t.Foreign(first + 1)
	t.Seal(ours, foreign)
	placed := t.placed()
	for _, s := range []chain.Signed{ours, foreign} {
		got, err := t.Chain.Prove(t.ctx, placed[s.Hash])
		t.ok(err)
		if got.Account != t.Funded || got.Index != s.Index {
			t.Errorf("got %+v, want nonce %d of %v", got, s.Index, t.Funded)
		}
		if got.Call.Equal(call) != (s.Hash == ours.Hash) {
			t.Errorf("got call %+v of nonce %d, and ours is %+v", got.Call, s.Index, call)
		}
	}
	_, err := t.Chain.Prove(t.ctx, chain.Inclusion{Account: t.Funded, Hash: nowhere, Block: placed[ours.Hash].Block})
	t.wants(err, chain.ErrNotFound)
}

// blockByHash checks that a block is found by its hash, and no other.
func blockByHash(t *trial) {
	turn, stop := t.heads(chain.Block{})
	defer stop()
	t.expect(turn, "+")
	t.Mine()
	made := t.expect(turn, "+")[0]
	got, err := t.Chain.Block(t.ctx, made.Hash)
	t.ok(err)
	if got != made {
		t.Errorf("got block %+v, want %+v", got, made)
	}
	_, err = t.Chain.Block(t.ctx, nowhere)
	t.wants(err, chain.ErrThread)
}

// linked checks that a block is an ancestor by parent hashes and not by its number (W1).
func linked(t *trial) {
	t.need(t.Reorg != nil, "reorganise")
	turn, stop := t.heads(chain.Block{})
	defer stop()
	line := t.expect(turn, "+")
	t.Mine()
	t.Mine()
	t.Mine()
	line = append(line, t.expect(turn, "+++")...)
	t.Reorg(2, nil, nil, nil)
	now := t.expect(turn, "--+++")
	head := now[4]
	blocks := []chain.Block{line[0], line[1], line[2], line[3], now[2], now[3], head, {Number: line[1].Number, Hash: nowhere}}
	got, err := t.Chain.Linked(t.ctx, head, blocks)
	t.ok(err)
	if want := []bool{true, true, false, false, true, true, true, false}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: block 2 and 3 have left the chain", got, want)
	}
	_, err = t.Chain.Linked(t.ctx, chain.Block{Number: head.Number, Hash: nowhere}, blocks[:1])
	t.wants(err, chain.ErrThread)
}

// confirm checks the second opinion of the endpoint that a claim came from (W2).
func confirm(t *trial) {
	t.need(t.Final != nil, "finalize")
	bad := t.failing()
	first := t.next()
	both := t.prepare(chain.Draft{Account: t.Funded, Index: first, Call: t.call()}, chain.Draft{Account: t.Funded, Index: first + 1, Call: bad})
	t.submit(chain.Accepted, both...)
	t.Mine()
	place := t.seen("included", both...)
	d, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	claim := func(i int, edit func(*chain.Claim)) chain.Claim {
		c := chain.Claim{By: d.By, At: place[i].Block}
		c.Inclusion = chain.Inclusion{Account: t.Funded, Index: both[i].Index, Hash: both[i].Hash, Block: place[i].Block, Effect: place[i].Effect}
		edit(&c)
		return c
	}
	claims := []chain.Claim{
		claim(0, func(*chain.Claim) {}),
		claim(1, func(*chain.Claim) {}),
		claim(0, func(c *chain.Claim) { c.Hash = nowhere }),
		claim(0, func(c *chain.Claim) { c.Block.Hash = nowhere }),
		claim(0, func(c *chain.Claim) { c.Effect = chain.EffectOf(!c.Effect.Failed()) }),
		claim(1, func(c *chain.Claim) { c.Effect = chain.EffectOf(!c.Effect.Failed()) }), // it failed, and the claim does not say so
		claim(1, func(c *chain.Claim) { c.Block.Number += 1000; c.Block.Hash = nowhere; c.At.Number += 1000 }),
	}
	wants := func(when string, want ...chain.Stand) {
		t.Helper()
		got, err := t.Chain.Confirm(t.ctx, claims)
		t.ok(err)
		for i, o := range got {
			if o.Stand != want[i] || !strings.Contains(d.By, o.By) || o.Stand != chain.Agrees && o.Why == "" {
				t.Errorf("%s, claim %d: got %v by %q (%s), want %v by %q and a reason", when, i, o.Stand, o.By, o.Why, want[i], d.By)
			}
		}
	}
	wants("before the block is final", slices.Repeat([]chain.Stand{chain.Mute}, len(claims))...)
	t.Mine()
	t.Final()
	t.Mine()
	t.Final()
	wants("when the final block has moved on", chain.Agrees, chain.Agrees, chain.Differs, chain.Differs, chain.Differs, chain.Differs, chain.Mute)
}
