package gossip

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/core"
	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
	overlaywire "github.com/conchhq/conch/gossip/internal/overlay/wire"
	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/transport"
)

// desk is an agent whose transport is played by the test.
type desk struct {
	t     *testing.T
	agent *Agent
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

// fakeLine notes the overlay's messages.
type fakeLine struct {
	transport.Line

	desk *desk
}

func (f fakeLine) Send(to string, body []byte) error {
	if m, err := overlaywire.Decode(body); err == nil {
		f.desk.done = append(f.desk.done, fmt.Sprintf("%s: %s", to, strings.TrimPrefix(fmt.Sprintf("%T", m), "overlay.")))
	}
	return nil
}

func (f fakeLine) Inbox() <-chan transport.Envelope { return f.desk.views }

func (fakeLine) Dropped() uint64 { return 0 }

type silent struct{ fakeLine }

func (silent) Send(string, []byte) error { return nil }

func (s silent) Inbox() <-chan transport.Envelope { return s.desk.statements }

func key(name string) hint.Pinned {
	seed := sha256.Sum256([]byte(name))
	p, _ := hint.NewPinned(ed25519.NewKeyFromSeed(seed[:]))
	return p
}

// newDesk returns node a. It knows b at an address, and b is an elector beside a if there are any.
func newDesk(t *testing.T, electors bool) *desk {
	t.Helper()
	d := &desk{t: t, now: time.Hour}
	cfg := Config{
		Transport: fakeRoamer{desk: d}, Address: "at-a", Contacts: []string{}, Namespaces: []Namespace{{Name: "site"}},
		Peers: []Peer{{Name: "b", Address: "at-b", Subject: key("b").Subject()}}, Clock: func() time.Duration { return d.now },
	}
	Seal(&cfg, key("a").Subject(), key("a"))
	if electors {
		cfg.Namespaces[0].Electors = []Subject{key("a").Subject(), key("b").Subject()}
	}
	var err error
	if d.agent, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	d.agent.statements, d.agent.views = silent{fakeLine{desk: d}}, fakeLine{desk: d}
	_ = d.agent.step(core.Begin{})
	return d
}

func (d *desk) link(name string, up bool) {
	l := transport.Link{Peer: name, Up: up}
	if up {
		l.Key = key(name).Subject()
	}
	_ = d.agent.step(core.Arrived{Links: []transport.Link{l}})
}

func (d *desk) hears(from string, m overlay.Message) {
	d.t.Helper()
	body, err := overlaywire.Encode(m)
	if err != nil {
		d.t.Fatal(err)
	}
	_ = d.agent.step(core.Arrived{Messages: []core.Message{{Line: core.LineOverlay, From: from, Body: body}}})
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

// linkWith returns the connection with a peer over which statements travel.
func (d *desk) linkWith(peer string) (core.Link, bool) {
	all := d.known().Links
	at := slices.IndexFunc(all, func(l core.Link) bool { return l.Name == peer })
	if at < 0 {
		return core.Link{}, false
	}
	return all[at], true
}

func (d *desk) known() core.Snapshot { return d.agent.core.Snapshot(d.now) }

// said is bytes of a claim of b's to lead.
func said(t *testing.T, sequence uint64, age int32) transport.Envelope {
	t.Helper()
	s := wire.Said{Statement: wire.Statement{Subject: key("b").Subject(), Incarnation: 1, Sequence: sequence, Namespace: "site"}, Age: age}
	s.Body = wire.Heartbeat{Stands: true, Leads: true, Wide: true, Reign: 1, Host: "b"}.Body()
	s.Signature = key("b").Sign(s.Signed())
	body, err := wire.Encode(wire.Parcel{Said: []wire.Said{s}})
	if err != nil {
		t.Fatal(err)
	}
	return transport.Envelope{Subject: core.LineGossip, From: "b", Body: body}
}
