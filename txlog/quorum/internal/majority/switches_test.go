package majority

import (
	"testing"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/conchhq/conch/txlog"
)

// Four of the library's switches are set otherwise than it would by itself, and each is needed: without it the same world
// shows what it is for.

// Without a vote before the vote, a member that comes back raises the term and deposes a leader that everybody hears.
func TestPreVote(t *testing.T) {
	t.Parallel()
	grows := func(change func(*raft.Config)) bool {
		w := newWorld(t, 5, 3)
		w.change = change
		for _, n := range w.nodes {
			n.crash()
			n.start()
		}
		w.until(20, "somebody leads", func() bool { return w.leader() != nil })
		w.run(10 * round)
		term := w.leader().m.Snapshot().Term
		w.apart("c")
		w.run(100 * round)
		w.heal()
		w.run(30 * round)
		return w.leader().m.Snapshot().Term > term
	}
	if grows(func(*raft.Config) {}) {
		t.Error("a member that comes back deposes the leader")
	}
	if !grows(func(c *raft.Config) { c.PreVote = false }) {
		t.Error("the switch is not needed: this test cannot fail")
	}
}

// Without a check of its majority, a leader that hears nobody believes that it leads for ever.
func TestCheckQuorum(t *testing.T) {
	t.Parallel()
	leads := func(change func(*raft.Config)) bool {
		w := newWorld(t, 6, 3)
		w.change = change
		for _, n := range w.nodes {
			n.crash()
			n.start()
		}
		w.until(20, "somebody leads", func() bool { return w.leader() != nil })
		l := w.leader()
		w.apart(l.name)
		w.run(3 * electionTicks * round)
		return l.m.Snapshot().Leading
	}
	if leads(func(*raft.Config) {}) {
		t.Error("a leader that hears nobody leads for ever")
	}
	if !leads(func(c *raft.Config) { c.CheckQuorum = false }) {
		t.Error("the switch is not needed: this test cannot fail")
	}
}

// With forwarding, the library's default, what was executed in an old term would be proposed in a new one by another leader.
func TestNoForward(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 7, 3)
	w.most = 0
	for _, n := range w.nodes {
		n.crash()
		n.start()
	}
	w.until(20, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
	w.run(10 * round)
	old := w.node("a")
	w.apart("a")
	w.until(60, "another one leads", func() bool { l := w.leader(); return l != nil && l != old })
	w.run(5 * round)
	w.heal()
	w.until(20, "a follows", func() bool { return old.leader != "a" && old.leader != "" })
	w.run(5 * round)
	late, err := txlog.Seal(txlog.Entry{
		Log: w.genesis.ID(), Index: uint64(len(old.toy.log)) + 1, Term: 2, Prev: old.toy.log[len(old.toy.log)-1].Hash(), Leader: "a",
		Kind: txlog.Executed, GoalID: "late",
	})
	if err != nil {
		t.Fatal(err)
	}
	old.step(Append{Record: late})
	w.run(5 * round)
	if w.committed[len(w.committed)-1].GoalID == "late" {
		t.Error("what was executed in an old term is in the log")
	}
}

// A store that was emptied has another id. With its old one it votes a second time, and a record that was acknowledged is
// lost: two of three have stored it, one of them is emptied, and with the third it makes a majority that knows nothing
// of it.
func TestNewStoreNewID(t *testing.T) {
	t.Parallel()
	lost := func(id uint64) (gone bool) {
		w := newWorld(t, 8, 3)
		w.most = 0
		w.until(20, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
		w.run(10 * round)
		a, b := w.node("a"), w.node("b")
		w.apart("c")
		a.execute(txlog.Entry{Kind: txlog.Executed, GoalID: "acknowledged"})
		w.until(10, "it is committed", func() bool { return w.committed[len(w.committed)-1].GoalID == "acknowledged" })
		w.run(5 * round)
		a.crash()
		b.crash()
		w.nodes[1] = nil
		w.nodes = append(w.nodes[:1:1], w.nodes[2])
		w.heal()
		w.committed = nil // the world itself would find it too soon
		fresh := w.add("b", id)
		fresh.disk = NewMemory(Fresh(w.genesis))
		w.run(100 * round)
		l := w.leader()
		if l == nil {
			return false
		}
		for _, r := range l.toy.log {
			if r.GoalID == "acknowledged" {
				return false
			}
		}
		return true
	}
	if lost(901) {
		t.Error("an emptied store has voted, and a record is lost")
	}
	if !lost(101) {
		t.Error("the rule is not needed: this test cannot fail")
	}
}

// Two members whose clocks run 2 % apart, a leader that is cut off: a new leader's act door opens when the old one's has
// shut, and for sure only since it waits.
func TestHold(t *testing.T) {
	t.Parallel()
	run := func(early bool, most int) (two int, sum time.Duration) {
		for seed := range uint64(most) {
			w := newWorld(t, seed, 5)
			w.early = early
			for i, n := range w.nodes {
				n.crash()
				n.rate = []float64{0.98, 1.02}[(uint64(i)+seed)%2]
				n.start()
			}
			for range 6 {
				w.until(40, "somebody leads", func() bool { return w.leader() != nil })
				w.run(60 * round)
				l := w.leader()
				l.paused = w.rand.IntN(2) == 0
				w.apart(l.name)
				w.run(time.Duration(w.rand.Int64N(int64(60 * round))))
				l.paused = false
				w.heal()
				w.run(10 * round)
				if _, _, is := w.overlap(); is {
					two++
					break
				}
			}
			for _, d := range w.doors {
				sum += d.ends - d.opens
			}
			if two > 0 {
				break
			}
		}
		return two, sum
	}
	two, sum := run(false, seeds(2))
	if two > 0 {
		t.Error("two act doors were open at one time")
	}
	if sum < 20*time.Second {
		t.Errorf("act doors were open for %v: this test shows nothing", sum)
	}
	if two, _ := run(true, 50); two == 0 {
		t.Error("the rule is not needed: this test cannot fail")
	}
}
