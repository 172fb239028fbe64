package majority

import (
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// confirmed asks the node, and returns what is answered within so many rounds.
func (w *world) confirmed(n *node, rounds int) (answers []authority.Confirmed) {
	from := len(w.reads)
	n.step(Confirm{Read: uint64(len(w.reads) + 1)})
	for range rounds {
		w.run(round)
	}
	return w.reads[from:]
}

// A read is confirmed by a majority: what was acknowledged before is covered. A leader that is cut off confirms nothing,
// also if it does not know yet that another one leads.
func TestConfirm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 5)
	w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
	a := w.node("a")
	w.run(10 * round)
	before := uint64(len(w.committed))
	got := w.confirmed(a, 3)
	if len(got) != 1 || got[0].Index < before {
		t.Fatalf("%d records were committed, and the answer is %+v", before, got)
	}
	if got := w.confirmed(w.node("b"), 3); len(got) != 0 {
		t.Errorf("a member that does not lead confirms: %+v", got)
	}
	w.apart("a", "b")
	if got := w.confirmed(a, 8); len(got) != 0 {
		t.Errorf("a leader without a majority confirms: %+v", got)
	}
	w.until(30, "another one leads", func() bool { return w.leader() != a })
	w.heal()
	w.run(20 * round)
	for _, r := range w.reads[1:] {
		t.Errorf("a read of an old term was confirmed: %+v", r)
	}
}

// Many reads share a question, and each is answered once.
func TestManyReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, 3)
	w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
	w.run(10 * round)
	var all Batch
	for i := range 500 {
		all = append(all, Confirm{Read: uint64(i)})
	}
	sent := w.messages
	w.node("a").step(all)
	w.node("a").step(all)
	for _, each := range all { // and one by one
		w.node("a").step(each)
	}
	w.until(5, "all are answered", func() bool { return len(w.reads) == 1500 })
	if n := w.messages - sent; n > 200 {
		t.Errorf("1,500 reads took %d messages", n)
	}
	seen := map[uint64]int{}
	for _, r := range w.reads {
		seen[r.Read]++
	}
	for read, n := range seen {
		if n != 3 {
			t.Errorf("read %d was answered %d times", read, n)
		}
	}
}

// A new leader does not know what is committed before an entry of its own term is. A read that it is asked for then is
// answered later, or it would miss what was acknowledged.
func TestConfirmAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 6, 3)
	w.most = 0
	w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
	w.run(10 * round)
	a, b := w.node("a"), w.node("b")
	a.execute(txlog.Entry{Kind: txlog.Executed, GoalID: "acknowledged"})
	w.until(2, "b has stored it", func() bool {
		w.cut = func(from, to string) bool {
			return from == "a" && to == "b" && b.toy.log[len(b.toy.log)-1].GoalID == "acknowledged"
		}
		return w.committed[len(w.committed)-1].GoalID == "acknowledged"
	})
	if b.toy.committed == uint64(len(w.committed)) {
		t.Fatal("b knows that it is committed, so that this proves nothing: take another seed")
	}
	a.crash()
	w.run(round) // what it has sent is lost
	w.heal()
	for _, n := range w.nodes {
		n.step(Suggested{Name: "b"})
	}
	b.told = func(f authority.Fact) {
		if _, leads := f.(authority.Leads); leads {
			w.after(0, func() { b.step(Confirm{Read: 1}) })
		}
	}
	w.until(20, "b leads", func() bool { return b.m.Snapshot().Leading })
	b.told, b.toy.mute = nil, false
	w.until(20, "the read is answered", func() bool { return len(w.reads) > 0 })
	if got := w.reads[0].Index; got < uint64(len(w.committed)) {
		t.Errorf("a read is confirmed at %d, and %d was acknowledged before", got, len(w.committed))
	}
}

// One member alone needs no answer.
func TestAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, 1)
	w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
	w.run(40 * round)
	a := w.node("a")
	if got := w.confirmed(a, 1); len(got) != 1 || got[0].Index == 0 {
		t.Errorf("%+v", got)
	}
	if !a.door.Open(a.clock()) {
		t.Errorf("its act door is shut: %+v at %v", a.door, a.clock())
	}
}

// The act door opens a lease after the term has begun, stays open while a majority answers, and shuts a lease without the
// margin after the last beat that was answered, or with the term.
func TestDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5, 3)
	for _, n := range w.nodes {
		n.rate, n.birth = 1, 0
	}
	w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
	a := w.node("a")
	w.run(28 * round)
	if a.door.Open(w.now) {
		t.Error("it is open before a lease has passed")
	}
	w.run(5 * round)
	if !a.door.Open(w.now) {
		t.Errorf("it is shut: %+v at %v", a.door, w.now)
	}
	w.run(100 * round)
	if !a.door.Open(w.now) {
		t.Errorf("it has not stayed open: %+v at %v", a.door, w.now)
	}
	cut := w.now
	w.apart("a")
	w.run(6 * round) // no longer than until a's majority is missed
	if !a.door.Open(w.now) || !a.m.Snapshot().Leading {
		t.Error("it shuts before its deadline, and a majority may come back")
	}
	if until := a.door.Until; until > cut+27*round || until < cut+25*round {
		t.Errorf("it is open until %v after the cut, and the lease without the margin is 2.7 s", until-cut)
	}
	w.until(30, "a steps down", func() bool { return !a.m.Snapshot().Leading })
	if a.door.Open(w.now) {
		t.Error("the door of a leader that has stepped down is open")
	}
}
