package chaintest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/conchhq/conch/chain"
)

func batchOf(t *trial) {
	d, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	attempts := t.attempts(min(d.MaxBatch, 100))
	t.submit(chain.Accepted, attempts...)
	t.seen("pooled", attempts...)
	t.Mine()
	t.seen("included", attempts...)
	if len(t.Chain.Submit(t.ctx, nil)) != 0 {
		t.Error("got outcomes of no attempts, want none")
	}
}

func twice(t *trial) {
	attempts := t.attempts(2)
	t.submit(chain.Accepted, attempts...)
	t.submit(chain.Known, attempts...)
	t.Mine()
	t.submit(chain.IndexTooLow, attempts...)
}

func replacement(t *trial) {
	old := t.attempts(1)[0]
	t.submit(chain.Accepted, old)
	same := t.prepare(chain.Draft{Account: t.Funded, Index: old.Index, Call: t.transfer(t.Poor, nil, "")})[0]
	t.submit(chain.Underpriced, same)
	t.seen("pooled", old)
	filler := t.prepare(chain.Draft{Account: t.Funded, Index: old.Index, Filler: true, Above: old.Fee})[0]
	t.submit(chain.Accepted, filler)
	t.seen("nowhere", old)
	t.submit(chain.Underpriced, old)
	t.Mine()
	t.seen("included", filler)
	t.submit(chain.IndexTooLow, old)
}

func gap(t *trial) {
	attempts := t.attempts(3)
	if t.Gapless {
		t.submit(chain.Refused, attempts[1])
		return
	}
	t.submit(chain.Accepted, attempts[1], attempts[2])
	t.Mine()
	t.seen("pooled", attempts[1], attempts[2])
	t.submit(chain.Accepted, attempts[0])
	t.Mine()
	t.seen("included", attempts...)
}

// nonsense begins like a transaction of EIP-1559 and cannot be decoded. A node may call what begins like
// nothing that it knows a type of a later fork.
const nonsense = "\x02nonsense"

func worthless(t *trial) {
	at := t.next()
	t.submit(chain.Invalid, chain.Signed{Account: t.Funded, Index: at, Hash: "nonsense", Bytes: []byte(nonsense)})
	if t.Elsewhere != nil {
		said := t.Chain.Submit(t.ctx, []chain.Signed{t.Elsewhere(at)})
		if len(said) != 1 || said[0].Verdict != chain.Refused && said[0].Verdict != chain.Outworn {
			t.Errorf("a transaction of another chain: got %v, want refused, or outworn", said)
		}
	}
	if t.Broke != nil {
		t.submit(chain.NoFunds, t.Broke())
	}
	good := t.attempts(2)
	mixed := t.Chain.Submit(t.ctx, []chain.Signed{good[0], {Account: t.Funded, Bytes: []byte(nonsense)}, good[1]})
	if len(mixed) != 3 || mixed[0].Verdict != chain.Accepted || mixed[1].Verdict != chain.Invalid || mixed[2].Verdict != chain.Accepted {
		t.Errorf("a bad attempt between two good ones: got %v, want accepted, invalid, accepted", mixed)
	}
}

func foreignIndex(t *trial) {
	t.need(t.Foreign != nil && t.Reorg != nil, "include a foreign transaction")
	ours := t.attempts(1)[0]
	t.submit(chain.Accepted, ours)
	t.Mine()
	t.seen("included", ours)
	foreign := t.Foreign(ours.Index)
	t.Reorg(1, []chain.Signed{foreign}, nil)
	t.seen("nowhere", ours)
	t.seen("included", foreign)
	t.submit(chain.IndexTooLow, ours)
	if got := t.next(); got != ours.Index+1 {
		t.Errorf("got next nonce %d, want %d", got, ours.Index+1)
	}
	found, _, err := t.Chain.Scan(t.ctx, t.head(), t.Funded, 0, 50)
	t.ok(err)
	if len(found) != 1 || found[0].Hash != foreign.Hash || found[0].Account != t.Funded || found[0].Index != ours.Index {
		t.Errorf("got %+v, want the transaction %v alone", found, foreign.Hash)
	}
}

func probe(t *trial) {
	t.need(!t.NoIndex, "look a transaction up by its hash")
	attempts := t.attempts(3)
	t.submit(chain.Accepted, attempts[0])
	t.Mine()
	t.submit(chain.Accepted, attempts[1])
	all, err := t.Chain.Probe(t.ctx, []chain.Hash{attempts[2].Hash, attempts[1].Hash, attempts[0].Hash})
	t.ok(err)
	if len(all) != 3 || fmt.Sprint(all) != "[nowhere pooled included]" {
		t.Fatalf("got %+v, want nowhere, pooled, included", all)
	}
	head, stop := t.heads(chain.Block{})
	defer stop()
	if b := head(); b.Block.Number != all[2].Block.Number || b.Block.Hash != all[2].Block.Hash {
		t.Errorf("got included in %v, want %v, the head", all[2].Block, b.Block)
	}
	none, err := t.Chain.Probe(t.ctx, nil)
	if err != nil || len(none) != 0 {
		t.Errorf("a probe of no hashes: got %v, %v, want nothing", none, err)
	}
}

// probeFailed checks that a probe alone tells a caller that a call failed.
func probeFailed(t *trial) {
	bad := t.failing()
	first := t.next()
	attempts := t.prepare(
		chain.Draft{Account: t.Funded, Index: first, Call: t.call()},
		chain.Draft{Account: t.Funded, Index: first + 1, Call: bad},
	)
	t.submit(chain.Accepted, attempts...)
	for _, s := range t.seen("pooled", attempts...) {
		if s.Effect.Failed() {
			t.Error("got a failed attempt in the pool, want one that has not failed")
		}
	}
	t.Mine()
	if seen := t.seen("included", attempts...); seen[0].Effect.Kind != chain.EffectOK || !seen[1].Effect.Failed() {
		t.Errorf("got %+v, want only the second to have failed", seen)
	}
}

func dropped(t *trial) {
	t.need(t.Drop != nil, "drop a transaction")
	ours := t.attempts(1)[0]
	t.submit(chain.Accepted, ours)
	t.Drop(ours.Hash)
	t.seen("nowhere", ours)
	t.submit(chain.Accepted, ours)
	t.Mine()
	t.seen("included", ours)
}

// counts checks the nonces of several accounts, and what a pool adds to one.
func counts(t *trial) {
	sent := t.attempts(2)
	t.submit(chain.Accepted, sent...)
	first, after := sent[0].Index, sent[0].Index+2
	wants := func(when string, next uint64) {
		t.Helper()
		got, err := t.Chain.Counts(t.ctx, []chain.Account{t.Poor, t.Funded})
		t.ok(err)
		if !slices.Equal(got, []uint64{0, next}) {
			t.Errorf("%s: got the next nonces %v, want 0 and %d", when, got, next)
		}
		pooled, err := t.Chain.Pooled(t.ctx, t.Funded)
		if err == nil && pooled != after || err != nil && !errors.Is(err, chain.ErrAnswer) {
			t.Errorf("%s: got the next nonce %d with the pool, error %v; want %d", when, pooled, err, after)
		}
	}
	wants("in a pool", first)
	t.Mine()
	wants("in a block", after)
}
