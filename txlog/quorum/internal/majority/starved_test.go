package majority

import (
	"testing"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"
)

// starves stops the leader for some rounds, as a machine does that has too much to do, and returns by how much the term has grown after
// it has gone on.
func (w *world) starves(rounds int) (terms uint64) {
	w.t.Helper()
	w.until(30, "somebody leads", func() bool { return w.leader() != nil })
	w.run(5 * round)
	l := w.leader()
	before := l.m.Snapshot().Term
	l.paused = true
	w.run(time.Duration(rounds) * round)
	l.paused = false
	l.step(Tick{}) // it does not know yet that it was missed
	w.run(20 * round)
	w.until(30, "somebody leads again", func() bool { return w.leader() != nil })
	return w.leader().m.Snapshot().Term - before
}

// Where a leader was lost that lives, the next one is not lost as soon: members that starve do not elect one leader after the other.
// That ends when all was well for a minute.
func TestALeaderThatStarves(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds(4)) {
		w := newWorld(t, seed, 5)
		if n := w.starves(6); n == 0 {
			t.Errorf("seed %d: nobody has missed a leader that was silent for six rounds", seed)
		}
		for range 5 {
			if n := w.starves(6); n > 0 {
				t.Errorf("seed %d: a slow leader is deposed again, and the term has grown by %d", seed, n)
			}
		}
		w.run(calmTicks * round * 11 / 10)
		if n := w.starves(6); n == 0 {
			t.Errorf("seed %d: after a minute nobody misses a leader that is silent", seed)
		}
	}
}

// A leader that has died, or was cut off, is no slow one: the next one is missed as soon as ever.
func TestALeaderThatDied(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds(10)) {
		w := newWorld(t, seed, 5)
		for _, ends := range []func(*node){
			func(l *node) { l.crash(); w.run(2 * round); l.start() },
			func(l *node) {
				w.apart(l.name)
				w.run((electionTicks + 3) * round)
				w.heal()
				l.step(Tick{})
			},
		} {
			w.until(30, "somebody leads", func() bool { return w.leader() != nil })
			w.run(5 * round)
			ends(w.leader())
			w.run(20 * round)
			for _, n := range w.nodes {
				if waits := n.m.pace.waits(); waits != missedBeats {
					t.Errorf("seed %d: %s waits for %d rounds", seed, n.name, waits)
				}
			}
		}
	}
}

// What shows that a leader lived which was lost, and for how long its next one is waited for.
func TestWhatShowsThatALeaderLived(t *testing.T) {
	t.Parallel()
	beat := func(kind pb.MessageType, from, term uint64) *pb.Message {
		return &pb.Message{Type: &kind, From: &from, Term: &term}
	}
	for _, c := range []struct {
		what    string
		silence uint64
		msg     *pb.Message
		waits   uint64
	}{
		{"it goes on", 3, beat(pb.MsgHeartbeat, 7, 4), 6},
		{"it sends entries", 3, beat(pb.MsgApp, 7, 4), 6},
		{"it was silent for long", 9, beat(pb.MsgHeartbeat, 7, 4), mostMissed},
		{"it was cut off", electionTicks + 1, beat(pb.MsgHeartbeat, 7, 4), missedBeats},
		{"it leads in a later term", 3, beat(pb.MsgHeartbeat, 7, 5), missedBeats},
		{"another one speaks", 3, beat(pb.MsgHeartbeat, 8, 4), missedBeats},
		{"it answers, as one that has started again does", 3, beat(pb.MsgAppResp, 7, 4), missedBeats},
	} {
		p := newPace(1)
		p.lost, p.ticks = loss{store: 7, term: 4, heard: 100}, 100+c.silence
		if p.lived(c.msg); p.waits() != c.waits {
			t.Errorf("%s: it waits for %d rounds, want %d", c.what, p.waits(), c.waits)
		}
		p.ticks += calmTicks
		if p.waits() != missedBeats {
			t.Errorf("%s: a minute later it waits for %d rounds", c.what, p.waits())
		}
	}
}
