package hint

import (
	"math"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// A number that only rises, and is believed from one peer, takes nothing from those that come after it (docs/gossip.md has all of them).
func TestNumbersThatLeap(t *testing.T) {
	t.Parallel()
	const last = math.MaxUint64
	beat := func(reign, top uint64) []byte {
		return wire.Heartbeat{Stands: true, Leads: true, Reign: reign, Top: top, Host: "host"}.Body()
	}
	t.Run("a reign", func(t *testing.T) {
		t.Parallel()
		m := crowded(2)
		m.brings(0, "p0", invented("a", 1, "", 0, beat(7, 7)))
		for i, body := range [][]byte{beat(7+mostLeap+1, 7), beat(7, 7+mostLeap+1), beat(wire.MostReign, 0), beat(last, 0)} {
			if m.brings(1, "p0", invented("b", uint64(i+1), "", 0, body)); m.Refusals()[wire.ErrReign] != i+1 {
				t.Errorf("heartbeat %d: %v were refused", i, m.Refusals())
			}
		}
		if s := m.Snapshot()[0]; s.Top != 7 || s.Leader != named("a") {
			t.Errorf("the highest reign is %d, and %s leads", s.Top, nameOf(s.Leader))
		}
	})
	t.Run("a mark", func(t *testing.T) {
		t.Parallel()
		m := crowded(2)
		one, two := invented("a", 1, "flag", 0, nil), invented("a", 2, "flag", 0, nil)
		m.brings(0, "p0", one)
		key := one.Key()
		marks := []wire.Mark{{Name: key.Name(), Incarnation: last, Sequence: last}, {Name: wire.Name{7}, Incarnation: last, Sequence: last}}
		m.Step(1, Received{From: "p1", Parcel: wire.Parcel{Opening: true, Marks: marks}})
		if n := heardIn(m.brings(2, "p0", two)); n != 1 {
			t.Errorf("what its subject says next is told %d times", n)
		}
	})
	t.Run("the sequence of a leader that votes for itself", func(t *testing.T) {
		t.Parallel()
		m := New(Config{Self: named("z"), Incarnation: 1, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site", Policy: Paper}}})
		m.Step(0, Arcs{Peers: []Peer{{Name: "liar", Subject: named("liar")}, {Name: "a", Subject: named("a")}}})
		m.brings(0, "liar", invented("liar", 1, "", 0, wire.Vote{Leader: named("a"), Sequence: last}.Body()))
		valid := m.cfg.Namespaces[0].Paper.validFor()
		for now, n := time.Duration(0), uint64(1); now < 3*valid; now, n = now+m.cfg.Round, n+1 {
			m.brings(now, "a", invented("a", n, "", 0, wire.Vote{Leader: named("a")}.Body()))
			m.Step(now, Tick{})
			if now > valid+time.Second && !m.order[0].paper.heardSince(named("a"), now-time.Second) {
				t.Fatalf("after %v what the leader itself says is not heard any more", now)
			}
		}
	})
	t.Run("this node's own sequence", func(t *testing.T) {
		t.Parallel()
		m := crowded(2)
		stolen := invented("z", last, "", 0, beat(1, 1)) // its key is stolen
		m.brings(1, "p0", stolen)
		if m.incarnation <= stolen.Incarnation || m.sequence == last {
			t.Errorf("it goes on as word %d of incarnation %d", m.sequence, m.incarnation)
		}
	})
}
