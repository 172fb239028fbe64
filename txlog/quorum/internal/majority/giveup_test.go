package majority

import (
	"errors"
	"slices"
	"testing"

	"go.etcd.io/raft/v3"

	"github.com/conchhq/conch/txlog"
)

// A leader whose memory is wrong gives its term up, and drops what nobody can count on: what it has proposed itself, and no
// other leader was told to be stored (V7). Else it would win each election in which its disk is needed.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	drops := func(n *node) bool { return n.m.Step(n.clock(), GiveUp{}).Persist.Reset != nil }
	goal := txlog.Entry{Kind: txlog.Executed, GoalID: "g"}
	begin := func(t *testing.T) (w *world, a, b *node) {
		t.Helper()
		w = newWorld(t, 2, 3)
		w.most = 0
		w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
		w.run(10 * round)
		return w, w.node("a"), w.node("b")
	}
	t.Run("of its own", func(t *testing.T) {
		t.Parallel()
		w, a, b := begin(t)
		w.apart("a")
		a.execute(goal)
		w.run(2 * round)
		before, kept := a.m.Snapshot(), len(w.committed)
		if before.Stored != before.Committed.Index+1 {
			t.Fatalf("it has stored %d, and %d are committed", before.Stored, before.Committed.Index)
		}
		out := a.m.Step(a.clock(), GiveUp{})
		if p := out.Persist; p.Reset == nil || p.Reset.At != before.Committed || !p.Sync || len(out.Messages)+len(out.Facts) > 0 {
			t.Errorf("it asks for %+v, says %d messages and %d facts", p, len(out.Messages), len(out.Facts))
		}
		if again := a.m.Step(a.clock(), Tick{}); !errors.Is(again.Failed, ErrGivenUp) || !again.Persist.Empty() {
			t.Errorf("then it says %v", again.Failed)
		}
		_ = a.disk.Persist(out.Persist)
		a.crash()
		a.start()
		if after := a.m.Snapshot(); after.Stored != before.Committed.Index || after.Term < before.Term {
			t.Errorf("it has %+v then", after)
		}
		w.heal()
		b.crash() // its disk is needed
		w.until(40, "the log goes on", func() bool { return len(w.committed) > kept })
		if w.committed[kept].GoalID != "" {
			t.Error("what was dropped is committed")
		}
	})
	t.Run("after a term without it", func(t *testing.T) {
		t.Parallel()
		w, a, b := begin(t)
		w.apart("a")
		w.until(60, "b leads, and a does not", func() bool { return b.m.Snapshot().Leading && !a.m.Snapshot().Leading })
		w.heal()
		w.until(20, "a has what b has", func() bool {
			return a.m.Snapshot().Stored == b.m.Snapshot().Stored && len(w.committed) == len(b.toy.log)
		})
		w.cut = func(from, to string) bool {
			return from == "c" || to == "c" || to == "a" && b.toy.committed == b.toy.opening+1
		}
		b.execute(goal)
		w.until(10, "b has committed it with a", func() bool { return b.toy.committed == b.toy.opening+1 })
		if a.m.Snapshot().Committed.Index == b.toy.committed {
			t.Fatal("a knows: this test cannot fail")
		}
		if drops(a) {
			t.Error("what the leader counts on was dropped")
		}
	})
	t.Run("with what another leader has sent", func(t *testing.T) {
		t.Parallel()
		w, a, b := begin(t)
		w.until(60, "b leads", func() bool {
			if !b.m.Snapshot().Leading {
				w.apart("a")
				return false
			}
			w.heal()
			return true
		})
		w.until(20, "all have what b has", w.settled)
		w.cut = func(from, to string) bool {
			return from == "c" || to == "c" || to == "a" && b.toy.committed == b.toy.opening+1
		}
		b.execute(goal)
		w.until(10, "b has committed it with a", func() bool { return b.toy.committed == b.toy.opening+1 })
		w.run(round) // what was on its way is lost
		b.crash()
		w.cut = func(string, string) bool { return a.m.Snapshot().Leading }
		w.until(40, "a leads", func() bool { return a.m.Snapshot().Leading })
		if s := a.m.Snapshot(); s.Committed.Index >= uint64(len(w.committed)) {
			t.Fatalf("a knows that %d are committed: this test cannot fail", s.Committed.Index)
		}
		if drops(a) {
			t.Error("what another leader may have counted on was dropped")
		}
	})
}

// A store has an entry of an earlier life that nobody takes, itself included: it may not drop it, since somebody may count on it. It would win each
// election, in vain. So the others come first, who can do without it, also if it is suggested.
func TestTheLastToCampaign(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 3)
	w.most = 0
	a := w.node("a")
	w.until(12, "a leads", func() bool { return a.m.Snapshot().Leading })
	w.run(10 * round)
	w.apart("a")
	a.execute(txlog.Entry{Kind: txlog.Executed, GoalID: "g"})
	w.run(2 * round)
	for _, n := range w.nodes {
		n.crash()
	}
	w.heal()
	a.last = true
	for _, n := range w.nodes {
		n.start()
	}
	a.step(Suggested{Name: "a"})
	w.until(40, "somebody leads", func() bool { return w.leader() != nil })
	w.run(10 * round)
	if last := w.committed[len(w.committed)-1]; w.leader() == a || last.GoalID == "g" {
		t.Errorf("a leads: %v; the last entry is %+v", w.leader() == a, last)
	}
	w.leader().crash() // now it may lead
	w.until(60, "another one leads", func() bool { return w.leader() != nil })
}

// What the library drops of what a leader has executed is never silent: its askers would wait for it until they give up. The term is given
// up, and the node begins anew, with all that wait told that nobody can say.
func TestWhatTheLibraryDrops(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]txlog.Entry{
		"goal":    {Kind: txlog.Executed, GoalID: "h", Goal: []byte("x"), Diff: []byte("y")},
		"members": {Kind: txlog.Changed}, // to two of them
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 3, 3)
			w.most = 0
			w.change = func(c *raft.Config) { c.MaxUncommittedEntriesSize = 1 }
			for _, n := range w.nodes {
				n.crash()
				n.start()
			}
			w.until(20, "somebody leads", func() bool { return w.leader() != nil })
			w.run(10 * round)
			if last.Kind == txlog.Changed {
				last.Members = slices.Clone(w.genesis.Members[:2])
			}
			l := w.leader()
			before := l.toy.log[len(l.toy.log)-1]
			var out Output
			for _, e := range []txlog.Entry{{Kind: txlog.Executed, GoalID: "g" + name, Goal: []byte("x"), Diff: []byte("y")}, last} {
				if out.Failed != nil {
					t.Fatal(out.Failed)
				}
				e.Log, e.Term, e.Leader, e.Index, e.Prev = before.Log, l.toy.leads, l.name, before.Index+1, before.Hash()
				r, err := txlog.Seal(e)
				if err != nil {
					t.Fatal(err)
				}
				out, before = l.m.Step(l.clock(), Append{Record: r}), r
			}
			if !errors.Is(out.Failed, ErrGivenUp) {
				t.Errorf("the library has dropped it, and the machine says %v", out.Failed)
			}
		})
	}
}
