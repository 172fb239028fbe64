package gossip

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/gossip/internal/core"
	"github.com/conchhq/conch/gossip/internal/overlay"
	overlaywire "github.com/conchhq/conch/gossip/internal/overlay/wire"
	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/transport"
)

// wait has a message of the overlay wait to be read.
func (d *desk) wait(from string, m overlay.Message) {
	body, err := overlaywire.Encode(m)
	if err != nil {
		d.t.Fatal(err)
	}
	d.views <- transport.Envelope{Subject: core.LineOverlay, From: from, Body: body}
}

// A loop that was busy finds the last words of a peer and the end of its connection at one time. The words count: it has said that it
// does not lead any more, and goodbye, so nobody looks for it. What others have said is read as well, after their connections.
func TestLastWordsBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for _, elector := range []bool{false, true} {
		d := newDesk(t, elector)
		d.statements, d.views = make(chan transport.Envelope, 9), make(chan transport.Envelope, 9)
		d.company()
		d.link("b", true)
		d.hears("b", overlay.Hello{Address: "at-b", Incarnation: 5, Holds: true})
		d.hears("p0", overlay.Forward{Number: 5, Newcomer: overlay.Peer{Name: "b", Address: "at-b"}})
		if l, _ := d.linkWith("b"); l.Arcs == 0 {
			t.Fatal("no arc leads to b, and the test shows nothing")
		}
		d.done = nil
		d.statements <- said(t, 1, 0)
		d.wait("n", overlay.Hello{Address: "at-n", Incarnation: 7, Holds: true})
		d.wait("p1", overlay.Goodbye{})
		d.wait("b", overlay.Goodbye{})
		d.statements <- transport.Envelope{Subject: core.LineGossip, From: "q", Body: said(t, 2, 0).Body} // which comes and goes meanwhile
		d.links = []transport.Link{{Peer: "q", Up: true}, {Peer: "q"}, {Peer: "b"}, {Peer: "n", Up: true, Key: key("n").Subject()}}
		d.agent.feed()
		if lost := d.known().Overlay.Lost; len(lost) > 0 {
			t.Errorf("electors: %v: it looks for %v", elector, lost)
		}
		if slices.Contains(d.done, "connect b at at-b") {
			t.Errorf("electors: %v: it calls b again: %q", elector, d.done)
		}
		for name, want := range map[string]bool{"n": true, "b": false, "p1": false} {
			if _, is := d.linkWith(name); is != want {
				t.Errorf("electors: %v: its neighbours are %v", elector, d.known().Links)
			}
		}
		for why, n := range d.known().Counts.Refused {
			if n > 0 {
				t.Errorf("electors: %v: %d messages are refused: %s", elector, n, why)
			}
		}
		if leader := d.agent.Status().Hints[0].Leader.Name; leader != "b" {
			t.Errorf("electors: %v: its last statement was not heard: %q leads", elector, leader)
		}
	}
}

// A peer that comes up while the last words of another one are read may have said something by then: it is heard, and not refused.
func TestAPeerThatComesWhileLastWordsAreRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	d.statements, d.views = make(chan transport.Envelope, 9), make(chan transport.Envelope, 9)
	d.company()
	d.wait("n", overlay.Subscribe{Number: 7})
	d.wait("p1", overlay.Goodbye{})
	d.links = []transport.Link{{Peer: "p0"}}
	d.later = []transport.Link{{Peer: "n", Up: true, Key: key("n").Subject()}, {Peer: "p1"}}
	d.agent.feed()
	if n := d.known().Counts.Refused["overlay-unconnected"]; n > 0 {
		t.Errorf("%d messages are refused, want none", n)
	}
	if !slices.Contains(d.done, "n: Welcome") {
		t.Errorf("n is not let in: %q", d.done)
	}
	if lost := d.known().Overlay.Lost; slices.Contains(lost, "p1") {
		t.Errorf("it looks for %v, and p1 has said goodbye", lost)
	}
}

// A peer that comes, floods and goes again and again is not read for ever: the time of this node would stand still.
func TestAPeerThatFlapsAndFloods(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	d.statements, d.views = make(chan transport.Envelope, 9), make(chan transport.Envelope, 9)
	d.company()
	asked := 0
	d.flaps = func() {
		if asked++; asked > 2*mostUnread {
			t.Fatalf("the transport was asked %d times", asked)
		}
		for range 8 {
			d.views <- transport.Envelope{Subject: core.LineOverlay, From: "p0"}
		}
		d.links = []transport.Link{{Peer: "p0", Up: true}, {Peer: "p0"}}
	}
	d.agent.feed()
	d.flaps = nil
}

// A loop that has taken a goodbye from its line hears a moment later that the connection is over. The words that it has in its hands are
// the last ones all the same, and so are those that wait behind the words of an elector.
func TestLastWordsInTheHandsOfTheLoop(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true)
	d.statements, d.views = make(chan transport.Envelope, 9), make(chan transport.Envelope, 9)
	d.company()
	d.hears("p0", overlay.Forward{Number: 5, Newcomer: overlay.Peer{Name: "p1", Address: "at-p1"}})
	body, err := overlaywire.Encode(overlay.Goodbye{})
	if err != nil {
		t.Fatal(err)
	}
	d.links = []transport.Link{{Peer: "p1"}}
	d.agent.feed(arrives(transport.Envelope{Subject: core.LineOverlay, From: "p1", Body: body}))
	if lost := d.known().Overlay.Lost; slices.Contains(lost, "p1") {
		t.Errorf("it looks for %v, and p1 has said goodbye", lost)
	}
	d.link("guest", true)
	d.link("b", true)
	d.links = []transport.Link{{Peer: "b"}}
	d.statements <- said(t, 1, 0)
	d.agent.feed(arrives(transport.Envelope{Subject: core.LineGossip, From: "guest", Body: []byte("garbage")}))
	if leader := d.agent.Status().Hints[0].Leader.Name; leader != "b" {
		t.Errorf("the last statement of b was not heard: %q leads", leader)
	}
	for why, n := range d.agent.Status().Counts.Refused {
		if n > 0 && why != "malformed" && why != "unconnected" {
			t.Errorf("%d messages are refused: %s", n, why)
		}
	}
}

// An elector's heartbeat is heard before what waits of others, however much that is.
func TestElectorsAreHeardFirst(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true)
	d.link("b", true)
	d.link("guest", true)
	beat := wire.Said{Statement: wire.Statement{
		Subject: key("b").Subject(), Incarnation: 1, Sequence: 1, Namespace: "site", Body: wire.Heartbeat{Leads: true, Stands: true, Reign: 3, Host: "b"}.Body(),
	}}
	beat.Signature = key("b").Sign(beat.Signed())
	body, err := wire.Encode(wire.Parcel{Said: []wire.Said{beat}})
	if err != nil {
		t.Fatal(err)
	}
	var batch []core.Input
	for range mostHeld - 1 {
		batch = append(batch, arrives(transport.Envelope{Subject: core.LineGossip, From: "guest", Body: []byte("garbage")}))
	}
	d.agent.mail.take()
	d.agent.feed(append(batch, arrives(transport.Envelope{Subject: core.LineGossip, From: "b", Body: body}))...)
	said := d.agent.mail.take()
	if len(said) < mostHeld/2 {
		t.Fatalf("%d events say what became of %d messages", len(said), mostHeld)
	}
	if l, is := said[0].(Leader); !is || l.Leader.Name != "b" {
		t.Errorf("the first of all that it heard is %+v", said[0])
	}
	if n := d.known().Counts.MessagesReceived; n != mostHeld {
		t.Errorf("%d messages were heard", n)
	}
}

// mostHeld is how many messages a batch has.
const mostHeld = step.MostAtOnce

// A batch is put in order, and what one peer has said on one line stays as it was. The time comes last.
func TestTheOrderOfABatch(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true)
	d.links = []transport.Link{{Peer: "late", Up: true}} // since the batch was taken
	batch := []core.Input{core.Tick{}, core.Arrived{Links: []transport.Link{{Peer: "early", Up: true}}}}
	for _, text := range []string{"spray b 1", "gossip guest 1", "spray guest 1", "gossip b 1", "gossip guest 2", "gossip b 2", "gossip early 1", "spray b 2"} {
		word := strings.Fields(text)
		batch = append(batch, arrives(transport.Envelope{Subject: word[0], From: word[1], Body: []byte(word[2])}))
	}
	var got []string
	for _, in := range d.agent.arrange(batch) {
		switch in := in.(type) {
		case core.Arrived:
			for _, l := range in.Links {
				got = append(got, l.Peer)
			}
			for _, m := range in.Messages {
				got = append(got, m.Line+" "+m.From+" "+string(m.Body))
			}
		case core.Tick:
			got = append(got, "tick")
		}
	}
	if want := []string{
		"early", "late", "gossip b 1", "gossip b 2", "gossip guest 1", "gossip guest 2", "gossip early 1", "spray b 1", "spray guest 1", "spray b 2", "tick",
	}; !slices.Equal(got, want) {
		t.Errorf("the order is %q, want %q", got, want)
	}
}

// However many events come, the mailbox is bounded, has the newest suggestion of each namespace, and news before refusals.
func TestTheMailboxIsBounded(t *testing.T) {
	t.Parallel()
	m := newMailbox()
	puts := 0
	put := func(e Event) { m.put(e); puts++ }
	for i := range 3 * mostEvents {
		put(Leader{Namespace: fmt.Sprint(i % 2), Reign: uint64(i)})
		put(Refused{})
	}
	for range mostEvents / 2 {
		put(News{})
	}
	all := m.take()
	if len(all) > mostEvents+1 {
		t.Fatalf("%d events wait", len(all))
	}
	newest, news := map[string]uint64{}, 0
	for _, e := range all[1:] {
		switch e := e.(type) {
		case Leader:
			newest[e.Namespace] = e.Reign
		case News:
			news++
		}
	}
	if newest["0"] != 3*mostEvents-2 || newest["1"] != 3*mostEvents-1 || news != mostEvents/2 {
		t.Errorf("the newest suggestions are %v, and %d pieces of news are left", newest, news)
	}
	if missed := all[0].(Missed).Events; missed+len(all)-1 != puts {
		t.Errorf("%d came, %d are told, and %d are said to be missing", puts, len(all)-1, missed)
	}
	if rest := m.take(); len(rest) != 0 {
		t.Errorf("it has more: %v", rest)
	}
}
