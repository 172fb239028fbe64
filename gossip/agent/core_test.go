package agent

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/spray"
	spraywire "github.com/conchhq/conch/gossip/spray/wire"
	"github.com/conchhq/conch/gossip/wire"
	"github.com/conchhq/conch/transport"
)

// desk is an agent whose transport is played by the test.
type desk struct {
	t     *testing.T
	agent *Agent
	core  *Core
	now   time.Duration
	done  []string // what the transport was asked, and was sent

	links, later      []transport.Link // that were not read yet, and that come right after those were read
	flaps             func()           // has more links be there
	statements, views chan transport.Envelope
}

type fakeRoamer struct {
	transport.Roamer

	desk *desk
}

func (f fakeRoamer) Self() string { return "a" }

func (f fakeRoamer) Links() []transport.Link {
	if f.desk.flaps != nil {
		f.desk.flaps()
	}
	defer func() { f.desk.links, f.desk.later = f.desk.later, nil }()
	return f.desk.links
}

func (f fakeRoamer) Connect(name, address string) {
	f.desk.done = append(f.desk.done, "connect "+name+" at "+address)
}

func (f fakeRoamer) Disconnect(name string) { f.desk.done = append(f.desk.done, "disconnect "+name) }

// Only a node that may lead has to be quick.
func TestThePace(t *testing.T) {
	t.Parallel()
	self, other := wire.Subject{1}, wire.Subject{2}
	const round = 100 * time.Millisecond
	for _, c := range []struct {
		name string
		all  []gossip.Namespace
		want time.Duration
	}{
		{"everybody may lead", []gossip.Namespace{{}}, round / 4},
		{"an elector", []gossip.Namespace{{Electors: []wire.Subject{other, self}}}, round / 4},
		{"one of the crowd", []gossip.Namespace{{Electors: []wire.Subject{other}}}, round},
		{"one of the crowd, and an elector elsewhere", []gossip.Namespace{{Electors: []wire.Subject{other}}, {Electors: []wire.Subject{self}}}, round / 4},
		{"it votes", []gossip.Namespace{{Electors: []wire.Subject{other}, Policy: gossip.Paper}}, round / 4},
	} {
		if got := NewCore(Settings{Gossip: gossip.Config{Self: self, Round: round, Namespaces: c.all}}).pace(); got != c.want {
			t.Errorf("%s: a tick each %v, want %v", c.name, got, c.want)
		}
	}
}

// In its first second a node that finds nobody tries again soon (B23).
func TestTheFirstSecond(t *testing.T) {
	t.Parallel()
	d := newDesk(t, false)
	d.sits(Config{
		Transport: fakeRoamer{desk: d}, Address: "at-a", Self: key("a").Subject(), Scheme: key("a"), Contacts: []string{"b"},
		Peers: []Peer{{Name: "b", Address: "at-b", Subject: key("b").Subject()}}, Namespaces: []gossip.Namespace{{Name: "site"}},
		Clock: func() time.Duration { return d.now },
	})
	d.core.soon = soon + 1
	took, tries := time.Duration(0), []time.Duration{}
	for took < 4*second {
		d.does((*Core).turns)
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

// fakeLine notes the overlay's messages.
type fakeLine struct {
	transport.Line

	desk *desk
}

func (f fakeLine) Send(to string, body []byte) error {
	if m, err := spraywire.Decode(body); err == nil {
		f.desk.done = append(f.desk.done, fmt.Sprintf("%s: %s", to, strings.TrimPrefix(fmt.Sprintf("%T", m), "spray.")))
	}
	return nil
}

func (f fakeLine) Inbox() <-chan transport.Envelope { return f.desk.views }

func (fakeLine) Dropped() uint64 { return 0 }

type silent struct{ fakeLine }

func (silent) Send(string, []byte) error { return nil }

func (s silent) Inbox() <-chan transport.Envelope { return s.desk.statements }

func key(name string) gossip.Pinned {
	seed := sha256.Sum256([]byte(name))
	p, _ := gossip.NewPinned(ed25519.NewKeyFromSeed(seed[:]))
	return p
}

// newDesk returns node a. It knows b at an address, and b is an elector beside a if there are any.
func newDesk(t *testing.T, electors bool) *desk {
	d := &desk{t: t, now: time.Hour}
	cfg := Config{
		Transport: fakeRoamer{desk: d}, Address: "at-a", Self: key("a").Subject(), Scheme: key("a"), Contacts: []string{},
		Peers: []Peer{{Name: "b", Address: "at-b", Subject: key("b").Subject()}}, Namespaces: []gossip.Namespace{{Name: "site"}},
		Clock: func() time.Duration { return d.now },
	}
	if electors {
		cfg.Namespaces[0].Electors = []wire.Subject{cfg.Self, cfg.Peers[0].Subject}
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	d.sits(cfg)
	return d
}

// sits has an agent of another configuration play. It has begun, and its first second is over.
func (d *desk) sits(cfg Config) {
	cfg = cfg.withDefaults()
	d.core = NewCore(cfg.settings(1))
	d.core.now, d.core.began, d.core.soon = d.now, true, 0
	d.agent = &Agent{cfg: cfg, core: d.core, mail: newMailbox(), statements: silent{fakeLine{desk: d}}, views: fakeLine{desk: d}}
}

// does calls the core past its inputs.
func (d *desk) does(what func(*Core)) {
	d.core.now = max(d.core.now, d.now)
	what(d.core)
	out := d.core.out
	d.core.out = nil
	_ = d.agent.perform(out)
}

func (d *desk) connects(p spray.Peer) { d.does(func(c *Core) { c.connect(p) }) }

func (d *desk) link(name string, up bool) {
	l := transport.Link{Peer: name, Up: up}
	if up {
		l.Key = key(name).Subject()
	}
	_ = d.agent.step(Arrived{Links: []transport.Link{l}})
}

// heard has the agent hear a statement.
func (d *desk) heard(e transport.Envelope) {
	e.Subject = LineGossip
	_ = d.agent.step(arrives(e))
}

func (d *desk) hears(from string, m spray.Message) {
	d.t.Helper()
	body, err := spraywire.Encode(m)
	if err != nil {
		d.t.Fatal(err)
	}
	_ = d.agent.step(Arrived{Messages: []Message{{Line: LineSpray, From: from, Body: body}}})
}

// company gives the overlay as many neighbours as it wants, so that it needs nobody else.
func (d *desk) company() {
	for i := range 5 {
		name := fmt.Sprint("p", i)
		d.link(name, true)
		d.hears(name, spray.Hello{Address: "at-" + name, Incarnation: 5, Holds: true})
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
	d.connects(spray.Peer{Name: "b", Address: "elsewhere"})
	d.does(func(c *Core) { c.feed(spray.Tick{}) })
	d.want("the overlay asks for what is there", "b: Hello")
	d.hears("b", spray.Hello{Address: "at-b", Incarnation: 5})
	for range 5 {
		d.does((*Core).turn)
	}
	if d.core.links["b"].overlay != unused {
		t.Fatal("nobody's overlay needs the connection, and it is not given up")
	}
	d.want("the overlay has given it up")
	if d.arcs()[0] != "b" {
		t.Errorf("statements travel to %v", d.arcs())
	}
	d.hears("b", spray.Hello{Address: "at-b", Incarnation: 5, Holds: true})
	d.want("the overlay of the other elector begins to use it", "b: Hello")
	if n := d.core.overlay.Neighbours(); n[0] != "b" {
		t.Errorf("the overlay has the neighbours %v", n)
	}
	if n := d.core.counts.Refused["overlay-unconnected"]; n != 0 {
		t.Errorf("%d of its messages were refused", n)
	}
	d.hears("b", spray.Goodbye{})
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
		d.does((*Core).turn)
		for ; len(d.done) == 0; i++ {
			turns = append(turns, 0)
			d.does((*Core).turn)
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
	d.link("b", false)
	d.done = nil
	d.does((*Core).turn)
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
	d.hears("c", spray.Hello{Address: "at-c", Incarnation: 5})
	for range 3 {
		d.does((*Core).turn)
	}
	d.want("nobody needs it", "disconnect c")
	if d.arcs()[0] == "c" || d.core.links["c"] != nil {
		t.Errorf("statements travel to %v, links are %v", d.arcs(), d.core.links)
	}
	d.hears("c", spray.Subscribe{Number: 1})
	if n := d.core.counts.Refused["overlay-unconnected"]; n != 1 {
		t.Errorf("a message that was under way is refused %d times", n)
	}
	d.connects(spray.Peer{Name: "b", Address: "somewhere"})
	d.connects(spray.Peer{Name: "d", Address: "at-d"})
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
		d.heard(transport.Envelope{From: "c", Body: body})
		want := Node{Subject: k.Subject()}
		if i == 0 {
			want.Name, want.Address = "d", "at-d"
		}
		if got := d.core.node(k.Subject()); got.Name != want.Name || got.Proven || i == 0 && got != want {
			t.Errorf("who says %q is taken for %+v", host, got)
		}
	}
	for name, want := range map[string]Node{
		"a": {Name: "a", Proven: true}, "b": {Name: "b", Proven: true, Address: "at-b"}, "c": {Name: "c", Proven: true}, "nobody": {},
	} {
		want.Subject = key(name).Subject()
		if got := d.core.node(want.Subject); got != want {
			t.Errorf("%s is %+v", name, got)
		}
	}
	if text := (Node{}).String() + " " + (Node{Subject: wire.Subject{1}}).String(); text != "nobody 01000000" {
		t.Errorf("got %q", text)
	}
}
