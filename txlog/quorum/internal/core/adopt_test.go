package core

import (
	"crypto/ed25519"
	"fmt"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
	"github.com/conchhq/conch/txlog/store"
)

// A head of what a snapshot has replaced in the same step is not stored: the store has no such record any more, and the
// process would end.
func TestAHeadBeforeASnapshot(t *testing.T) {
	t.Parallel()
	key, c, records, s := fortyRecords(t)
	if err := s.Write(store.Step{Records: records[:20]}); err != nil {
		t.Fatal(err)
	}
	core := coreOf(t, key, s)
	last := records[39]
	head := txlog.Head{Position: last.Position(), State: last.State, Member: "n1"}.Sign(key)
	core.adopt(follower.Adopt{Base: c, Snapshot: c.Snapshot(), Offer: follower.SumPieces(head, c.Snapshot())})
	core.say(txlog.Head{Position: records[19].Position(), State: records[19].State}, true)
	for _, w := range core.Step(0, Batch{}).Writes {
		if err := w.To(s); err != nil {
			t.Error(err)
		}
	}
}

// A leader's word where a member that is behind has to go on from is compared with the record that came from others (V6, V7).
func TestALeadersWordIsCompared(t *testing.T) {
	t.Parallel()
	key, c, records, s := fortyRecords(t)
	reached := func(says uint64) (at txlog.Position) {
		core := coreOf(t, key, s)
		core.behind = &txlog.Position{Log: c.Genesis().ID(), Index: says, Term: 2, Hash: txlog.Hash{1}}
		core.caughtUp()
		if !core.Step(0, Batch{}).Load {
			t.Fatalf("at %d it waits for more", says)
		}
		has, err := Load(s, kv.New)
		if err != nil {
			t.Fatal(err)
		}
		core.take(Loaded{Has: has})
		for _, in := range core.requests {
			if r, is := in.(majority.Reached); is {
				return r.At
			}
		}
		t.Fatalf("at %d the authority is told nothing", says)
		return at
	}
	if err := s.Write(store.Step{Records: records}); err != nil {
		t.Fatal(err)
	}
	for _, index := range []uint64{1, 23, 40} {
		if got, want := reached(index), records[index-1].Position(); got != want {
			t.Errorf("the authority is told %+v, and record %d is %+v", got, index, want)
		}
	}
	if err := s.Keep(c.Position(), c.Snapshot(), store.Step{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Compact(40); err != nil {
		t.Fatal(err)
	}
	if got := reached(23); got.Hash != (txlog.Hash{1}) { // else a leader that needs this member to come further would wait for ever
		t.Errorf("with no such record any more the authority is told %+v", got)
	}
}

// coreOf returns a core of what a store has.
func coreOf(t *testing.T, key ed25519.PrivateKey, s store.Store) *Core {
	t.Helper()
	has, err := Load(s, kv.New)
	if err != nil {
		t.Fatal(err)
	}
	core, err := New(Settings{Self: "n1", Key: key, New: kv.New}, has)
	if err != nil {
		t.Fatal(err)
	}
	return core
}

// fortyRecords returns a log of one member, and an empty store of it.
func fortyRecords(t *testing.T) (ed25519.PrivateKey, *txlog.Copy, []txlog.Record, store.Store) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public, _ := key.Public().(ed25519.PublicKey)
	g := txlog.Genesis{Namespace: "flags", Machine: "kv/1", Members: []txlog.Member{{Name: "n1", Key: txlog.Fingerprint(public), Store: 1}}}.With()
	s := store.NewMemory(1, g)
	c := txlog.NewCopy(g, kv.New)
	var records []txlog.Record
	for i := range 40 {
		goal := fmt.Appendf(nil, `{"op":"put","key":"k","value":%d}`, i)
		o := c.Execute(goal)
		r, err := c.Next(txlog.Entry{Kind: txlog.Executed, Term: 2, Leader: "n1", GoalID: fmt.Sprint(i), Goal: goal, Result: o.Result, Fault: o.Fault, Diff: o.Diff})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return key, c, records, s
}
