package pgstore_test

import (
	"slices"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// Rule event-with-change: the statement that makes a change writes its event, so where the event cannot be written nothing changes: neither
// when an intent is accepted, gets its nonce, is in a block, ends or is cancelled, nor when an end is taken back.
func TestNoChangeWithoutItsEvent(t *testing.T) {
	t.Parallel()
	w := openTreasury(t, of(pgstore.OfValue, 100))
	one := of(pgstore.OfValue, 1)
	waits, nonce, included, done := w.take("waits", one), w.take("nonce", one), w.take("included", one), w.take("done", one)
	in := func(index uint64, status pending.Status) pending.Change {
		return pending.Change{Index: index, Hash: hashOf(index), Status: status, Block: chain.Block{Number: 7, Hash: "b"}}
	}
	end := func(index uint64) pending.Change {
		c := in(index, pending.Finalized)
		c.Intent, c.Witnesses = pending.Done, [2]string{"a", "b"}
		return c
	}
	w.write(pending.Batch{New: []pending.Slot{slotOf(0, nonce), slotOf(1, included), slotOf(2, done)}})
	w.write(pending.Batch{Changes: []pending.Change{in(1, pending.InBlock)}})
	w.write(pending.Batch{Changes: []pending.Change{end(2)}})
	const refuse = `ALTER TABLE conch.pending_events ADD CONSTRAINT refused CHECK (false) NOT VALID`
	run(t, w.conn, refuse)
	ids := []pending.Intent{waits, nonce, included, done}
	versions := func() (all []uint64) {
		for _, one := range ids {
			r, err := w.nodes[0].Get(t.Context(), one.ID)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r.Version)
		}
		return all
	}
	before, stored := versions(), w.count("intents")
	batch := func(b pending.Batch) func() error {
		return func() error {
			b.Account, b.Number = pendingtest.Account, writes.Add(1)
			return w.Write(t.Context(), current, b)
		}
	}
	for what, does := range map[string]func() error{
		"accepted":  func() error { _, err := w.ask(0, "new", 1, of(pgstore.OfValue, 1)); return err },
		"a nonce":   batch(pending.Batch{New: []pending.Slot{slotOf(3, waits)}}),
		"in block":  batch(pending.Batch{Changes: []pending.Change{in(0, pending.InBlock)}}),
		"retracted": batch(pending.Batch{Changes: []pending.Change{{Index: 1, Hash: hashOf(1), Status: pending.Retracted}}}),
		"final":     batch(pending.Batch{Changes: []pending.Change{end(1)}}),
		"rewound":   batch(pending.Batch{Changes: []pending.Change{in(2, pending.InBlock)}}),
		"rejected":  batch(pending.Batch{Rejects: []pending.Hold{{Intent: waits.ID, Why: "no"}}}),
		"cancelled": func() error { return w.Cancel(t.Context(), waits.ID) },
	} {
		if err := does(); err == nil {
			t.Errorf("%s: it is stored without its event", what)
		}
	}
	if after := versions(); !slices.Equal(after, before) || w.count("intents") != stored || w.spent(pgstore.OfValue) != 4 {
		t.Errorf("the versions were %v and are %v, of %d intents %d", before, after, stored, w.count("intents"))
	}
	run(t, w.conn, `ALTER TABLE conch.pending_events DROP CONSTRAINT refused`)
	w.write(pending.Batch{Changes: []pending.Change{in(2, pending.InBlock)}})
	if after := versions(); after[3] <= before[3] {
		t.Errorf("with its event the version goes from %d to %d", before[3], after[3])
	}
}
