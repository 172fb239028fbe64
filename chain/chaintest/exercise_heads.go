package chaintest

import (
	"context"
	"iter"
	"strings"

	"github.com/conchhq/conch/chain"
)

// nowhere is the hash of no block.
var nowhere = chain.Hash(strings.Repeat("\xee", 32))

// heads follows the chain; each call of turn waits for the next one.
func (t *trial) heads(from chain.Block) (turn func() chain.Turn, stop func()) {
	ctx, cancel := context.WithCancel(t.ctx)
	pull, end := iter.Pull2(t.Chain.Heads(ctx, from))
	turn = func() chain.Turn {
		t.Helper()
		got, err, more := pull()
		if err != nil || !more {
			t.Fatalf("got no next turn: %v", err)
		}
		return got
	}
	return turn, func() {
		cancel()
		end()
	}
}

// expect reads turns until they are want, + for applied and - for reverted. Finality is ignored.
func (t *trial) expect(turn func() chain.Turn, want string) (blocks []chain.Block) {
	t.Helper()
	got := ""
	for len(got) < len(want) {
		switch now := turn(); now.Kind {
		case chain.Applied:
			got += "+"
			blocks = append(blocks, now.Block)
		case chain.Reverted:
			got += "-"
			blocks = append(blocks, now.Block)
		case chain.Finalized:
		}
	}
	if got != want {
		t.Fatalf("got turns %s, want %s", got, want)
	}
	return blocks
}

func (t *trial) chained(blocks ...chain.Block) {
	t.Helper()
	for i := 1; i < len(blocks); i++ {
		if blocks[i].Parent != blocks[i-1].Hash || blocks[i].Number != blocks[i-1].Number+1 {
			t.Errorf("got block %v after %v, want a child of it", blocks[i], blocks[i-1])
		}
	}
}

func follow(t *trial) {
	turn, stop := t.heads(chain.Block{})
	defer stop()
	seen := t.expect(turn, "+")
	t.Mine()
	seen = append(seen, t.expect(turn, "+")...)
	t.Mine()
	t.Mine()
	t.Mine()
	t.chained(append(seen, t.expect(turn, "+++")...)...)
}

func reorg(t *trial) {
	t.need(t.Reorg != nil, "reorganise")
	turn, stop := t.heads(chain.Block{})
	defer stop()
	t.expect(turn, "+")
	t.Mine()
	t.Mine()
	t.Mine()
	old := t.expect(turn, "+++")
	t.Reorg(2, nil, nil, nil)
	now := t.expect(turn, "--+++")
	if now[0] != old[2] || now[1] != old[1] {
		t.Errorf("got reverted %v, want the newest two of %v, newest first", now[:2], old)
	}
	t.chained(old[0], now[2], now[3], now[4])
	t.Mine()
	t.chained(now[4], t.expect(turn, "+")[0])
}

func rewind(t *trial) {
	t.need(t.Reorg != nil, "reorganise")
	t.Mine()
	t.Mine()
	turn, stop := t.heads(chain.Block{})
	defer stop()
	head := t.expect(turn, "+")
	t.Mine()
	old := t.expect(turn, "+")
	t.Reorg(1)
	if gone := t.expect(turn, "-"); gone[0] != old[0] {
		t.Errorf("got reverted %v, want %v", gone, old)
	}
	t.Mine()
	t.chained(head[0], t.expect(turn, "+")[0])
}

func resume(t *trial) {
	t.Mine()
	turn, stop := t.heads(chain.Block{})
	head := t.expect(turn, "+")[0]
	stop()
	t.Mine()
	t.Mine()
	turn, stop = t.heads(head)
	seen := t.expect(turn, "++")
	stop()
	t.chained(head, seen[0], seen[1])
	t.need(t.Reorg != nil, "reorganise")
	t.Reorg(2, nil)
	turn, stop = t.heads(seen[1])
	defer stop()
	now := t.expect(turn, "--+")
	t.chained(head, now[2])
}

func lostThread(t *trial) {
	t.Mine()
	t.Mine()
	for _, err := range t.Chain.Heads(t.ctx, chain.Block{Number: 2, Hash: nowhere, Parent: nowhere}) {
		t.wants(err, chain.ErrThread)
		return
	}
	t.Error("got no turn and no error, want an error")
}

func finality(t *trial) {
	t.need(t.Final != nil, "finalize")
	turn, stop := t.heads(chain.Block{})
	defer stop()
	t.expect(turn, "+")
	t.Mine()
	b := t.expect(turn, "+")[0]
	t.Final()
	for last := uint64(0); last < b.Number; {
		if now := turn(); now.Kind == chain.Finalized {
			if now.Block.Number == b.Number && now.Block.Hash != b.Hash || now.Block.Number < last {
				t.Fatalf("got final %v after block %d, want rising blocks up to %v", now.Block, last, b)
			}
			last = now.Block.Number
		}
	}
}

// finalAtOnce checks that a new follower gets the final block before another block comes.
func finalAtOnce(t *trial) {
	t.need(t.Final != nil, "finalize")
	turn, stop := t.heads(chain.Block{})
	t.expect(turn, "+")
	t.Mine()
	b := t.expect(turn, "+")[0]
	stop()
	t.Final()
	turn, stop = t.heads(chain.Block{})
	defer stop()
	now := turn()
	for now.Kind != chain.Finalized {
		now = turn()
	}
	if now.Block.Number != b.Number || now.Block.Hash != b.Hash {
		t.Errorf("got final %v, want %v", now.Block, b)
	}
}

func unreachable(t *trial) {
	down := t.Down
	_, err := down.Describe(t.ctx)
	t.wants(err, chain.ErrUnreachable)
	_, err = down.Next(t.ctx, t.Funded)
	t.wants(err, chain.ErrUnreachable)
	_, err = down.Counts(t.ctx, []chain.Account{t.Funded})
	t.wants(err, chain.ErrUnreachable)
	_, err = down.Pooled(t.ctx, t.Funded)
	t.wants(err, chain.ErrUnreachable)
	_, err = down.Block(t.ctx, nowhere)
	t.wants(err, chain.ErrUnreachable)
	_, err = down.Prepare(t.ctx, []chain.Draft{{Account: t.Funded, Call: t.call()}})
	t.wants(err, chain.ErrUnreachable)
	_, err = down.Probe(t.ctx, []chain.Hash{nowhere})
	t.wants(err, chain.ErrUnreachable)
	_, err = down.Inclusions(t.ctx, chain.Block{Hash: nowhere}, []chain.Account{t.Funded})
	t.wants(err, chain.ErrUnreachable)
	_, _, err = down.Scan(t.ctx, chain.Block{Number: 9, Hash: nowhere}, t.Funded, 0, 1)
	t.wants(err, chain.ErrUnreachable)
	_, err = down.Prove(t.ctx, chain.Inclusion{Hash: nowhere, Block: chain.Block{Hash: nowhere}})
	t.wants(err, chain.ErrUnreachable)
	_, err = down.Linked(t.ctx, chain.Block{Number: 9, Hash: nowhere}, []chain.Block{{Number: 8, Hash: nowhere}})
	t.wants(err, chain.ErrUnreachable)
	_, err = down.Confirm(t.ctx, []chain.Claim{{}})
	t.wants(err, chain.ErrUnreachable)
	for _, err := range down.Heads(t.ctx, chain.Block{}) {
		t.wants(err, chain.ErrUnreachable)
	}
	t.Chain, down = down, t.Chain
	outcomes := t.Chain.Submit(t.ctx, []chain.Signed{{Account: t.Funded, Bytes: []byte{1}}, {Account: t.Funded, Bytes: []byte{2}}})
	if len(outcomes) != 2 || outcomes[0].Verdict != chain.Unknown || outcomes[1].Verdict != chain.Unknown || outcomes[0].Text == "" {
		t.Errorf("got outcomes %v, want two unknown ones with a text", outcomes)
	}
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	if o := down.Submit(ctx, []chain.Signed{{Account: t.Funded, Bytes: []byte{1}}}); len(o) != 1 || o[0].Verdict != chain.Unknown {
		t.Errorf("with a cancelled context: got %v, want unknown", o)
	}
}
