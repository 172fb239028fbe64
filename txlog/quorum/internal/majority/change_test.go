package majority

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/conchhq/conch/txlog"
)

func (w *world) member(name string, store uint64) txlog.Member {
	m, _ := txlog.FindMember(w.genesis.Members, name)
	key := m.Key
	if key.IsZero() {
		key = txlog.Hash{name[0]}
	}
	return txlog.Member{Name: name, Key: key, Store: store}
}

func decide(n *node) (names []string) {
	for _, of := range n.m.Snapshot().Members {
		if !of.Leaving {
			names = append(names, of.Name)
		}
	}
	return names
}

// Members are added, removed and replaced while goals are executed and messages are lost. The record is in the log once, and
// the change ends by itself.
func TestMembersChange(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds(20)) {
		w := newWorld(t, seed, 3)
		w.loss, w.keep = 0.05, []uint64{5, 1000}[seed%2]
		w.until(30, "somebody leads", func() bool { return w.leader() != nil })
		w.run(10 * round)
		a, b, c := w.genesis.Members[0], w.genesis.Members[1], w.genesis.Members[2]
		d, e := w.member("d", 700), w.member("e", 701)
		w.add("d", 700)
		w.add("e", 701)
		changed := func(members ...txlog.Member) {
			w.until(60, "the leader has opened", func() bool { l := w.leader(); return l != nil && l.toy.committed >= l.toy.opening })
			w.leader().changes(members...)
			want := ""
			for _, m := range members {
				want += m.Name
			}
			w.until(200, "the members are "+want, func() bool {
				l := w.leader()
				return l != nil && strings.Join(decide(l), "") == want && len(l.m.decides().leaving) == 0
			})
			w.until(200, "all of them know it", func() bool {
				for _, n := range w.nodes {
					if n.m != nil && n.m.decides().has(n.store) && strings.Contains(want, n.name) && strings.Join(decide(n), "") != want {
						return false
					}
				}
				return true
			})
		}
		changed(a, b, c, d, e)
		changed(a, b, c, d) // one less
		changed(c, d, e)    // the leader may be among those that go
		w.until(60, "a member leads", func() bool { l := w.leader(); return l != nil && l.m.decides().has(l.store) })
		n := len(w.committed)
		w.run(20 * round)
		if len(w.committed) == n {
			t.Errorf("seed %d: nothing was committed after the changes\n%s", seed, w.describe())
		}
	}
}

// A member whose disk was lost comes back with the same name and another store. The old store's messages are refused, also
// when it turns up again.
func TestReplacedStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, 3)
	w.until(12, "somebody leads", func() bool { return w.leader() != nil })
	w.run(10 * round)
	old := w.node("c")
	old.crash()
	fresh := w.add("c", 900)
	w.run(20 * round)
	if fresh.m.Snapshot().Member {
		t.Fatal("a store that nobody has admitted is a member")
	}
	w.leader().changes(w.genesis.Members[0], w.genesis.Members[1], w.member("c", 900))
	w.until(60, "the new store is a member and has the log", func() bool {
		s := fresh.m.Snapshot()
		return s.Member && len(s.Members) == 3 && s.Committed.Index+10 > uint64(len(w.committed))
	})
	term := w.leader().m.Snapshot().Term
	old.start() // it turns up again
	for range 10 {
		old.step(Campaign{})
		w.run(5 * round)
	}
	if now := w.leader().m.Snapshot().Term; now != term {
		t.Errorf("a store that was replaced has deposed the leader: term %d, then %d", term, now)
	}
	if !slices.ContainsFunc(w.nodes, func(n *node) bool { return n != old && (n.refuses(ErrOtherStore) || n.refuses(ErrStranger)) }) {
		t.Error("nobody has refused its messages")
	}
	w.node("b").crash() // with a and the new c it goes on
	n := len(w.committed)
	w.until(60, "it goes on with the new store", func() bool { return len(w.committed) > n+5 })
}

// A change that comes while one goes on waits, and what was executed after it waits behind it: the library would put nothing
// in its place, and the records after it would follow nothing.
func TestTwoChangesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, 3)
	w.most = 0
	w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
	w.run(10 * round)
	a := w.node("a")
	m := w.genesis.Members
	w.add("d", 700)
	a.changes(append(slices.Clone(m), w.member("d", 700))...)
	a.changes(m...)
	a.execute(txlog.Entry{Kind: txlog.Executed, GoalID: "behind"})
	w.until(60, "all three are committed", func() bool { return w.committed[len(w.committed)-1].GoalID == "behind" })
	w.until(10, "three decide", func() bool { return strings.Join(decide(a), "") == "abc" })
	if s := a.m.Snapshot(); s.Term != 2 {
		t.Errorf("it took until term %d", s.Term)
	}
}

// No entry begins a change while one goes on: the library would panic when it is committed.
func TestTwoChangesInTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 3)
	r, err := txlog.Seal(txlog.Entry{Log: w.genesis.ID(), Index: 1, Term: 2, Prev: w.genesis.ID(), Kind: txlog.Changed, Leader: "a", Members: w.genesis.Members[:2]})
	if err != nil {
		t.Fatal(err)
	}
	settled := &conf{members: w.genesis.Members}
	change, _ := settled.change(r)
	data, _ := proto.Marshal(change)
	e := Entry{Index: 2, Term: 2, Change: true, Data: data}.theirs()
	if next, err := settled.after(e, r, true); err != nil || len(next.leaving) != 3 || len(next.members) != 2 {
		t.Fatalf("%+v, %v", next, err)
	}
	if _, err := (&conf{members: w.genesis.Members, leaving: w.genesis.Members}).after(e, r, true); err == nil {
		t.Error("a second change goes on")
	}
}

// A leader that is removed leads until the change has ended, and steps down then.
func TestLeaderIsRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, 3)
	w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
	w.run(10 * round)
	a := w.node("a")
	a.changes(w.genesis.Members[1:]...)
	w.until(4, "a leads no more", func() bool { return !a.m.Snapshot().Leading && !a.m.Snapshot().Member })
	w.until(20, "another one leads", func() bool { l := w.leader(); return l != nil && l != a && l.toy.committed >= l.toy.opening })
	if a.door != (Door{}) {
		t.Errorf("its act door is %+v", a.door)
	}
}

// A set of even size is legal and unwise, and so is one of one.
func TestCheckWarns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 7)
	for n, warns := range map[int]bool{1: true, 2: true, 3: false, 4: true, 5: false, 6: true, 7: false} {
		warning, err := Check(w.genesis.Members[:n])
		if err != nil || (warning != "") != warns {
			t.Errorf("%d members: %q, %v", n, warning, err)
		}
	}
	if _, err := Check(nil); err == nil {
		t.Error("no members are no set")
	}
	if _, err := Check([]txlog.Member{{Name: "a", Store: 1 << 63}}); err == nil {
		t.Error("a store's id has 63 bits")
	}
}

// A member that is behind a change of members does not know the new leader. It says whom it has refused, and takes its
// messages once a verified record has named it.
func TestKnownMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5, 3)
	w.until(12, "somebody leads", func() bool { return w.leader() != nil })
	w.run(10 * round)
	late := w.node("c")
	late.crash()
	m := w.genesis.Members
	d, e := w.member("d", 700), w.member("e", 701)
	w.add("d", 700)
	w.add("e", 701)
	w.leader().changes(m[0], m[1], m[2], d, e)
	w.until(60, "five decide", func() bool { return len(w.leader().m.Snapshot().Members) == 5 && len(decide(w.node("d"))) == 5 })
	w.run(10 * round)
	w.node("a").crash()
	w.node("b").start0()
	w.cut = func(from, to string) bool { return from == "b" && to == "c" || from == "c" && to == "b" }
	late.start()
	for _, n := range w.nodes {
		n.step(Suggested{Name: "d"})
	}
	w.run(60 * round)
	if late.m.Snapshot().Leader != "" || !late.refuses(ErrStranger) {
		t.Fatalf("c follows a stranger: %+v, %v", late.m.Snapshot(), late.refused)
	}
	index := slices.IndexFunc(w.committed, func(r txlog.Record) bool { return r.Kind == txlog.Changed })
	late.step(Known{Index: uint64(index + 1), Members: w.committed[index].Members})
	w.until(60, "c follows", func() bool { return late.m.Snapshot().Leader != "" && len(decide(late)) == 5 })
}

// start0 is a restart without a wait.
func (n *node) start0() {
	n.crash()
	n.start()
}

// When a leader dies that has made a change and not ended it, the next one opens its term while the change goes on, and ends it before it
// executes anything (see endsChanges).
func TestAnOpeningWithinAChange(t *testing.T) {
	t.Parallel()
	within := 0
	for seed := range uint64(5) {
		w := newWorld(t, seed, 3)
		w.until(60, "somebody leads", func() bool { return w.leader() != nil })
		w.run(10 * round)
		first := w.leader()
		var members []txlog.Member
		for i, name := range []string{"d", "e", "f"} {
			members = append(members, w.member(name, uint64(700+i)))
			w.add(name, uint64(700+i))
		}
		goesOn := func(n *node) bool { return n.m != nil && len(n.m.decides().leaving) > 0 }
		var made time.Duration
		w.cut = func(from, to string) bool { // the end of the change is lost, and a beat says that the change is made
			if from != first.name || !goesOn(first) {
				return false
			}
			made = cmp.Or(made, w.now)
			return w.now == made || goesOn(w.node(to))
		}
		first.changes(members...)
		w.until(100, "another one knows that it is made", func() bool {
			return slices.ContainsFunc(w.nodes, func(n *node) bool { return n != first && goesOn(n) })
		})
		first.crash()
		w.until(100, "it has ended", func() bool {
			l := w.leader()
			return l != nil && l != first && !goesOn(l) && decides(l, members)
		})
		w.run(20 * round)
		after := slices.IndexFunc(w.committed, func(r txlog.Record) bool { return r.Kind == txlog.Changed }) + 1
		if w.committed[after].Kind == txlog.Opening {
			within++
		}
	}
	if within == 0 {
		t.Error("no term has begun within a change: this test cannot fail")
	}
}

func decides(n *node, members []txlog.Member) bool {
	return slices.Equal(n.m.decides().members, members)
}
