package gossip

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/wire"
)

// from is a parcel of a peer.
func from(peer string, said ...wire.Said) Received {
	return Received{From: peer, Parcel: wire.Parcel{Said: said}}
}

// receivers returns to whom each statement was sent, in order.
func receivers(out []Action) (all [][]string) {
	for _, a := range out {
		if s, is := a.(Send); is {
			all = append(all, s.To)
		}
	}
	return all
}

// Of what waits together nothing goes back to a peer that has brought it, and all else goes to all others.
func TestWhatWaitsTogether(t *testing.T) {
	t.Parallel()
	beat := invented("a", 7, "", 0, wire.Heartbeat{Stands: true, Leads: true, Reign: 1}.Body())
	flag := invented("b", 1, "flag", 0, nil)
	m := crowded(5)
	out := m.Step(time.Second, Together{from("p0", beat), from("p1", flag, beat), from("p2", beat), from("p3", flag)})
	if got := receivers(out); len(got) != 2 || !slices.Equal(got[0], []string{"p3", "p4"}) || !slices.Equal(got[1], []string{"p0", "p2", "p4"}) {
		t.Errorf("it is sent to %v", got)
	}
	if heardIn(out) != 1 || m.Suggestion("site").Leader != named("a") {
		t.Errorf("%v is named, and it told of %d pieces of news", m.Suggestion("site"), heardIn(out))
	}
	// What comes later is relayed as ever.
	if got := receivers(m.Step(time.Second, from("p0", invented("b", 2, "flag", 0, nil)))); len(got) != 1 || len(got[0]) != 4 {
		t.Errorf("then it is sent to %v", got)
	}
}

// Of the news under one key the newest word alone leaves.
func TestNewsThatIsOldBeforeItLeaves(t *testing.T) {
	t.Parallel()
	m := crowded(3)
	first, second, other := invented("a", 1, "flag", 0, []byte("1")), invented("a", 2, "flag", 0, []byte("2")), invented("a", 3, "route", 0, nil)
	out := m.Step(time.Second, Together{from("p0", first), from("p1", second), from("p0", other)})
	var sent []uint64
	for _, a := range out {
		if s, is := a.(Send); is {
			sent = append(sent, s.Parcel.Said[0].Sequence)
			if want := map[uint64][]string{1: {"p1"}, 2: {"p0", "p2"}, 3: {"p1", "p2"}}[s.Parcel.Said[0].Sequence]; !slices.Equal(s.To, want) {
				t.Errorf("statement %d goes to %v, want %v", s.Parcel.Said[0].Sequence, s.To, want)
			}
		}
	}
	if !slices.Equal(sent, []uint64{1, 2, 3}) || heardIn(out) != 3 {
		t.Errorf("it sent %v, and told %d", sent, heardIn(out))
	}
}

// A peer that brings something else under the same number, as one of two hosts with one key says it, does not have it.
func TestAnotherWordUnderTheSameNumber(t *testing.T) {
	t.Parallel()
	m := crowded(3)
	one, other := invented("a", 7, "flag", 0, []byte("1")), invented("a", 7, "flag", 0, []byte("2222"))
	if got := receivers(m.Step(time.Second, Together{from("p0", one), from("p1", other)})); len(got) != 1 || !slices.Equal(got[0], []string{"p1", "p2"}) {
		t.Errorf("it is sent to %v", got)
	}
}
