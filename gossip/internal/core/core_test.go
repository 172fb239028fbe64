package core

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
	overlaywire "github.com/conchhq/conch/gossip/internal/overlay/wire"
	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/transport"
)

// desk is a core whose agent is played by the test.
type desk struct {
	t     *testing.T
	set   Settings
	core  *Core
	now   time.Duration
	done  []string // what the transport was asked, and was sent
	asked []string // who was asked what it knows
}

// Only a node that may lead has to be quick.
func TestThePace(t *testing.T) {
	t.Parallel()
	self, other := wire.Subject{1}, wire.Subject{2}
	for _, c := range []struct {
		name string
		all  []hint.Namespace
		want time.Duration
	}{
		{"everybody may lead", []hint.Namespace{{}}, round / 4},
		{"an elector", []hint.Namespace{{Electors: []wire.Subject{other, self}}}, round / 4},
		{"one of the crowd", []hint.Namespace{{Electors: []wire.Subject{other}}}, round},
		{"one of the crowd, and an elector elsewhere", []hint.Namespace{{Electors: []wire.Subject{other}}, {Electors: []wire.Subject{self}}}, round / 4},
		{"it votes", []hint.Namespace{{Electors: []wire.Subject{other}, Policy: hint.Paper}}, round / 4},
	} {
		if got := New(Settings{Hint: hint.Config{Self: self, Round: round, Namespaces: c.all}}).tickPace(); got != c.want {
			t.Errorf("%s: a tick each %v, want %v", c.name, got, c.want)
		}
	}
}

// In its first second a node that finds nobody tries again soon (B23).
func TestTheFirstSecond(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	d.set.Hint.Alone, d.set.Overlay.Contacts = 10*second, []overlay.Peer{{Name: "b", Address: "at-b"}}
	d.sits(d.set)
	d.core.soon = soon + 1
	took, tries := time.Duration(0), []time.Duration{}
	for took < 4*second {
		d.does((*Core).turnWhenDue)
		if len(d.done) > 0 {
			tries, d.done = append(tries, took), nil
			d.link("b", false)
		}
		took += d.core.untilTurn()
	}
	for _, want := range []time.Duration{0, second / 5, 3 * second / 5, 3 * second} {
		if !slices.Contains(tries, want) {
			t.Errorf("it tries after %v, want also after %v", tries, want)
		}
	}
}

func key(name string) hint.Pinned {
	seed := sha256.Sum256([]byte(name))
	p, _ := hint.NewPinned(ed25519.NewKeyFromSeed(seed[:]))
	return p
}

// newDesk returns node a. It knows b at an address, and b is an elector beside a if there are any.
func newDesk(t *testing.T, electors bool) *desk {
	d := &desk{t: t, now: time.Hour}
	set := Settings{
		Hint: hint.Config{
			Self: key("a").Subject(), Host: "a@at-a", Incarnation: 1, Seed: 1, Scheme: key("a"), Round: round, Namespaces: []hint.Namespace{{Name: "site"}},
		},
		Overlay: overlay.Config{Self: overlay.Peer{Name: "a", Address: "at-a"}, Incarnation: 1, Seed: 1},
		Peers:   []Peer{{Name: "b", Address: "at-b", Subject: key("b").Subject()}}, Seed: 1,
	}
	if electors {
		set.Hint.Namespaces[0].Electors = []wire.Subject{key("a").Subject(), key("b").Subject()}
	}
	d.sits(set)
	return d
}

// sits has a core of other settings play. It has begun, and its first second is over.
func (d *desk) sits(set Settings) {
	d.set, d.core = set, New(set)
	d.core.now, d.core.began, d.core.soon = d.now, true, 0
}

func (d *desk) step(in Input) { d.perform(d.core.Step(d.now, in)) }

// perform notes what a core asks for.
func (d *desk) perform(acts []Act) {
	for _, a := range acts {
		switch a := a.(type) {
		case Connect:
			d.done = append(d.done, "connect "+a.Name+" at "+a.Address)
		case Disconnect:
			d.done = append(d.done, "disconnect "+a.Name)
		case Send:
			for _, to := range a.To {
				d.sent(a.Line, to, a.Body)
			}
		}
	}
}

func (d *desk) sent(line, to string, body []byte) {
	if line == LineGossip {
		if p, err := wire.Decode(body); err == nil && p.Opening {
			d.asked = append(d.asked, to)
		}
		return
	}
	if m, err := overlaywire.Decode(body); err == nil {
		d.done = append(d.done, fmt.Sprintf("%s: %s", to, strings.TrimPrefix(fmt.Sprintf("%T", m), "overlay.")))
	}
}

// does calls the core past its inputs.
func (d *desk) does(what func(*Core)) {
	d.core.now = max(d.core.now, d.now)
	what(d.core)
	out := d.core.out
	d.core.out = nil
	d.perform(out)
}

func (d *desk) connects(p overlay.Peer) { d.does(func(c *Core) { c.connectPeer(p) }) }

func (d *desk) link(name string, up bool) {
	l := transport.Link{Peer: name, Up: up}
	if up {
		l.Key = key(name).Subject()
	}
	d.step(Arrived{Links: []transport.Link{l}})
}

// heard has the core hear a statement.
func (d *desk) heard(from string, body []byte) {
	d.step(Arrived{Messages: []Message{{Line: LineGossip, From: from, Body: body}}})
}

func (d *desk) hears(from string, m overlay.Message) {
	d.t.Helper()
	body, err := overlaywire.Encode(m)
	if err != nil {
		d.t.Fatal(err)
	}
	d.step(Arrived{Messages: []Message{{Line: LineOverlay, From: from, Body: body}}})
}

// company gives the overlay as many neighbours as it wants, so that it needs nobody else.
func (d *desk) company() {
	for i := range 5 {
		name := fmt.Sprint("p", i)
		d.link(name, true)
		d.hears(name, overlay.Hello{Address: "at-" + name, Incarnation: 5, Holds: true})
	}
	d.done = nil
}

// want compares what was asked and sent since the last call.
func (d *desk) want(when string, want ...string) {
	d.t.Helper()
	if got := d.done; !slices.Equal(got, want) {
		d.t.Errorf("%s:\n got %q\nwant %q", when, got, want)
	}
	d.done = nil
}

func (d *desk) arcs() (names []string) {
	for _, p := range d.core.arcs {
		names = append(names, p.Name)
	}
	return names
}

// Electors keep a connection to each other. The overlay of one of them asks for it, and ends its use, and the connection
// stays.
func TestElectorsShareAConnectionWithTheOverlay(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true)
	d.company()
	d.does((*Core).keepElectors)
	d.want("at the start", "connect b at at-b")
	d.does((*Core).keepElectors)
	d.want("while it is dialled")
	d.link("b", true)
	d.want("it is up, and the overlay did not ask for it")
	if d.arcs()[0] != "b" {
		t.Errorf("statements travel to %v", d.arcs())
	}
	d.connects(overlay.Peer{Name: "b", Address: "elsewhere"})
	d.does(func(c *Core) { c.feedOverlay(overlay.Tick{}) })
	d.want("the overlay asks for what is there", "b: Hello")
	d.hears("b", overlay.Hello{Address: "at-b", Incarnation: 5})
	for range 5 {
		d.does((*Core).turnOverlay)
	}
	if d.core.links["b"].overlay != unused {
		t.Fatal("nobody's overlay needs the connection, and it is not given up")
	}
	d.want("the overlay has given it up")
	if d.arcs()[0] != "b" {
		t.Errorf("statements travel to %v", d.arcs())
	}
	d.hears("b", overlay.Hello{Address: "at-b", Incarnation: 5, Holds: true})
	d.want("the overlay of the other elector begins to use it", "b: Hello")
	if n := d.core.overlay.Neighbours(); n[0] != "b" {
		t.Errorf("the overlay has the neighbours %v", n)
	}
	if n := d.core.counts.Refused["overlay-unconnected"]; n != 0 {
		t.Errorf("%d of its messages were refused", n)
	}
	d.hears("b", overlay.Goodbye{})
	d.want("it leaves the overlay")
	if d.arcs()[0] != "b" {
		t.Errorf("the electors' connection went with a goodbye of the overlay: %v", d.arcs())
	}
}

// An elector that is gone is dialled again, after pauses that grow to a few seconds.
func TestElectorsAreDialledAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t, true)
	d.does((*Core).keepElectors)
	d.want("at the start", "connect b at at-b")
	var turns []int
	for i := range 30 {
		d.link("b", false)
		d.does((*Core).turnOverlay)
		for ; len(d.done) == 0; i++ {
			turns = append(turns, 0)
			d.does((*Core).turnOverlay)
		}
		d.done = nil
		turns = append(turns, 1)
		if len(turns) > 30 {
			break
		}
	}
	text := strings.NewReplacer("[", "", "]", "", " ", "").Replace(fmt.Sprint(turns))
	if !strings.HasPrefix(text, "101000100001") || strings.Contains(text, "000000") {
		t.Errorf("dials (1) and turns without one (0): %s", text)
	}
	d.link("b", true)
	if d.link("b", false); len(d.arcs()) != 0 {
		t.Errorf("statements travel to %v, which is gone", d.arcs())
	}
	d.done = nil
	d.does((*Core).turnOverlay)
	d.want("the turn after one that was up", "connect b at at-b")
}

// Of any other peer the overlay is told everything, and its Disconnect ends the connection.
func TestTheOverlayOwnsItsConnections(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	d.company()
	d.link("c", true)
	d.want("c has connected", "c: Hello")
	if d.arcs()[0] != "c" {
		t.Errorf("statements travel to %v", d.arcs())
	}
	d.hears("c", overlay.Hello{Address: "at-c", Incarnation: 5})
	for range 3 {
		d.does((*Core).turnOverlay)
	}
	d.want("nobody needs it", "disconnect c")
	if d.arcs()[0] == "c" || d.core.links["c"] != nil {
		t.Errorf("statements travel to %v, links are %v", d.arcs(), d.core.links)
	}
	d.hears("c", overlay.Subscribe{Number: 1})
	if n := d.core.counts.Refused["overlay-unconnected"]; n != 1 {
		t.Errorf("a message that was under way is refused %d times", n)
	}
	d.connects(overlay.Peer{Name: "b", Address: "somewhere"})
	d.connects(overlay.Peer{Name: "d", Address: "at-d"})
	d.want("it is dialled where the configuration has it, or where it is said to be", "connect b at at-b", "connect d at at-d")
	d.link("d", false)
	d.link("d", false)
	if d.core.links["d"] != nil {
		t.Error("a peer that could not be reached is remembered for ever")
	}
}

// The name of a subject is the configuration's; else what its connection has proven; else its own word, unless that is
// known to be another's name.
func TestNames(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	d.link("c", true)
	for i, host := range []string{"d@at-d", "b@at-x", "a", "c", ""} {
		k := key(fmt.Sprint("stranger ", i))
		said := wire.Said{Statement: wire.Statement{
			Subject: k.Subject(), Incarnation: 1, Sequence: 1, Namespace: "site", Body: wire.Heartbeat{Stands: true, Reign: uint64(i), Host: host}.Body(),
		}}
		said.Signature = k.Sign(said.Signed())
		body, err := wire.Encode(wire.Parcel{Said: []wire.Said{said}})
		if err != nil {
			t.Fatal(err)
		}
		d.heard("c", body)
		want := Node{Subject: k.Subject()}
		if i == 0 {
			want.Name, want.Address = "d", "at-d"
		}
		if got := d.core.nameOf(k.Subject()); got.Name != want.Name || got.Proven || i == 0 && got != want {
			t.Errorf("who says %q is taken for %+v", host, got)
		}
	}
	for name, want := range map[string]Node{
		"a": {Name: "a", Proven: true}, "b": {Name: "b", Proven: true, Address: "at-b"}, "c": {Name: "c", Proven: true}, "nobody": {},
	} {
		want.Subject = key(name).Subject()
		if got := d.core.nameOf(want.Subject); got != want {
			t.Errorf("%s is %+v", name, got)
		}
	}
}

// What has become of connections is read all at once. A connection that is given up while that is heard of is told no more: its Up was
// before its end, and no Down would ever follow it.
func TestAConnectionThatIsGivenUpMeanwhile(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	for i := range overlay.MostPeers - 1 {
		name := fmt.Sprintf("p%03d", i)
		d.link(name, true)
		d.hears(name, overlay.Hello{Address: "at-" + name, Incarnation: 5, Holds: true})
	}
	d.link("y", true)
	d.hears("y", overlay.Hello{Address: "at-y", Incarnation: 5}) // it needs the connection no more
	d.done = nil
	d.step(Arrived{Links: []transport.Link{{Peer: "w", Up: true}, {Peer: "y"}, {Peer: "y", Up: true}}})
	if !slices.Contains(d.done, "disconnect y") {
		t.Fatalf("y makes no room for w, and the test shows nothing: %q", d.done)
	}
	if l := d.core.links["y"]; l != nil || slices.Contains(d.core.overlay.Neighbours(), "y") {
		t.Errorf("a connection that was ended is taken for one that stands: %+v", l)
	}
}
