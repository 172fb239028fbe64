package gossip_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/internal/core"
	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
	overlaywire "github.com/conchhq/conch/gossip/internal/overlay/wire"
	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/memory"
)

// attacker is a node with a key and no manners, connected with n1.
type attacker struct {
	t             testing.TB
	end           *memory.Roamer
	key           hint.Pinned
	gossip, spray transport.Line
}

func (s *site) attacker() *attacker {
	a := &attacker{t: s.t, key: keyOf(s.t, "evil")}
	a.end = s.net.Roam("evil", a.key.Subject())
	var err error
	if a.gossip, err = a.end.Open(core.LineGossip); err != nil {
		s.t.Fatal(err)
	}
	if a.spray, err = a.end.Open(core.LineOverlay); err != nil {
		s.t.Fatal(err)
	}
	a.end.Connect("n1", "n1")
	pass(time.Second)
	a.mingle(overlay.Hello{Address: "evil", Incarnation: 1, Holds: true})
	return a
}

func (a *attacker) mingle(m overlay.Message) {
	b, err := overlaywire.Encode(m)
	if err != nil {
		a.t.Fatal(err)
	}
	a.raw(a.spray, b)
}

func (a *attacker) raw(l transport.Line, b []byte) {
	if err := l.Send("n1", b); err != nil {
		a.t.Fatal(err)
	}
}

func (a *attacker) says(said ...wire.Said) {
	b, err := wire.Encode(wire.Parcel{Said: said})
	if err != nil {
		a.t.Fatal(err)
	}
	a.raw(a.gossip, b)
}

// word is a statement of a subject that a key has signed.
func word(by wire.Subject, key hint.Scheme, sequence uint64, topic string, body []byte) wire.Said {
	s := wire.Said{Statement: wire.Statement{Subject: by, Incarnation: 1 << 62, Sequence: sequence, Namespace: "site", Topic: topic, Body: body}}
	s.Signature = key.Sign(s.Signed())
	return s
}

// What a peer sends that is wrong is refused, counted by its reason, and the peer is named. Nobody else hears of it, and
// nobody believes it.
func TestBadInput(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(3, 3)
		l := s.agree(2 * time.Second)
		a := s.attacker()
		victim := keyOf(t, "n2").Subject()
		crown := wire.Heartbeat{Leads: true, Stands: true, Wide: true, Reign: 1 << 30, Host: "evil"}.Body()
		aged, err := wire.Encode(wire.Parcel{Said: []wire.Said{func() wire.Said { s := word(victim, a.key, 1, "t", nil); s.Age = 1; return s }()}})
		if err != nil {
			t.Fatal(err)
		}
		aged[len(aged)-1] = 1 // -1
		n := s.node("n1")
		for _, c := range []struct {
			reason string
			do     func()
		}{
			{"malformed", func() { a.raw(a.gossip, []byte("garbage")) }},
			{"malformed", func() { a.raw(a.gossip, nil) }},
			{"size", func() { a.raw(a.gossip, bytes.Repeat([]byte{1}, wire.MostParcel+1)) }},
			{"version", func() { a.raw(a.gossip, []byte{8, 99}) }},
			{"age", func() { a.raw(a.gossip, aged) }},
			{"signature", func() { a.says(word(victim, a.key, 1<<40, "", crown)) }},
			{"signature", func() { s := word(victim, a.key, 1<<40, "flag", nil); s.Signature = nil; a.says(s) }},
			{"elector", func() { a.says(word(a.key.Subject(), a.key, 1, "", crown)) }},
			{"reign", func() {
				a.says(word(victim, a.key, 1<<40, "", append([]byte{'h', 7}, bytes.Repeat([]byte{255}, 24)...)))
			}},
			{"namespace", func() { s := word(a.key.Subject(), a.key, 1, "t", nil); s.Namespace = "elsewhere"; a.says(s) }},
			{"back", func() {
				a.says(word(a.key.Subject(), a.key, 9, "t", nil))
				pass(time.Second)
				a.says(word(a.key.Subject(), a.key, 8, "t", nil))
			}},
			{"flood", func() {
				one := word(a.key.Subject(), a.key, 7, "t", nil)
				for range 40 {
					a.says(slices.Repeat([]wire.Said{one}, 100)...)
				}
			}},
			{"overlay-malformed", func() { a.raw(a.spray, []byte("garbage")) }},
			{"overlay-size", func() { a.raw(a.spray, bytes.Repeat([]byte{1}, overlaywire.MostBytes+1)) }},
			{"overlay-version", func() { a.raw(a.spray, []byte{8, 99}) }},
			{"overlay-kind", func() { a.raw(a.spray, []byte{8, 1, 0xa2, 0x1f, 0}) }},
			{"overlay-unasked", func() { a.mingle(overlay.Welcome{Number: 5}) }},
			{"overlay-names-us", func() { a.mingle(overlay.Forward{Number: 5, Newcomer: overlay.Peer{Name: "n1"}}) }},
			{"overlay-flood", func() {
				for range 200 { // more than 64 before a tick, or after it
					a.mingle(overlay.Subscribe{Number: 6})
				}
			}},
		} {
			before, told0 := n.agent.Status().Counts.Refused, len(told[gossip.Refused](n))
			c.do()
			pass(2 * time.Second)
			after := n.agent.Status().Counts.Refused
			if after[c.reason] <= before[c.reason] {
				t.Errorf("%s is not refused: %v, and before %v", c.reason, after, before)
			}
			events := told[gossip.Refused](n)[told0:]
			if len(events) == 0 || events[0].From != "evil" {
				t.Errorf("%s: the peer is not named: %+v", c.reason, events)
			}
		}
		for _, n := range s.nodes {
			for _, e := range told[gossip.Refused](n) {
				if n.name != "n1" || e.From != "evil" {
					t.Errorf("%s refuses something of %s: %v", n.name, e.From, e.Why)
				}
			}
			if e := told[gossip.Leader](n); e[len(e)-1].Leader.Name != l.name || e[len(e)-1].Reign > 1 {
				t.Errorf("%s follows %+v", n.name, e[len(e)-1])
			}
		}
		known := map[string]bool{}
		for _, r := range gossip.Reasons() {
			known[r] = true
		}
		for r := range n.agent.Status().Counts.Refused {
			if !known[r] {
				t.Errorf("the reason %q is in no list", r)
			}
		}
	})
}

// A peer that floods both lines without end costs the others nothing: the leader stays, and news travels.
func TestAFlood(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		s.crowd(3, 3)
		l := s.agree(2 * time.Second)
		a := s.attacker()
		garbage := bytes.Repeat([]byte{0xff}, 1000)
		forged := word(keyOf(t, "n2").Subject(), a.key, 1<<40, "", wire.Heartbeat{Leads: true, Reign: 9}.Body())
		for i := range 200 {
			for range 20 {
				a.raw(a.gossip, garbage)
				a.raw(a.spray, garbage)
				a.says(forged)
			}
			if i == 100 {
				if err := s.node("n1").agent.Publish("site", "flag", []byte("on")); err != nil {
					t.Fatal(err)
				}
			}
			pass(20 * time.Millisecond)
		}
		if now := s.leader(); now != l {
			t.Errorf("it is no longer so that all follow %s\n%s", l.name, s.views())
		}
		for _, n := range s.nodes {
			if c := n.status().Changes; c != 1 {
				t.Errorf("%s has changed its leader %d times", n.name, c)
			}
			if n.name != "n1" && len(told[gossip.News](n)) != 1 {
				t.Errorf("%s has heard %+v", n.name, told[gossip.News](n))
			}
		}
	})
}

// Two hosts run with one key. The first one hears that, and stands back; it names both, and so do those that hear it. The second one is
// heard by all, and hears nothing of the first: its own words are what everybody has. That it is the second it learns where it calls
// somebody who is connected with the first (mtls.TestTwins).
func TestTwins(t *testing.T) {
	t.Parallel()
	for _, electors := range []int{0, 3} {
		t.Run(fmt.Sprint(electors, " electors"), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *site) {
				s.cheap = true
				s.crowd(3, electors)
				s.agree(10 * time.Second)
				pass(70 * time.Second) // before that it takes such words for those of a life before
				twin := s.add("n9", true)
				twin.key, twin.scheme = s.node("n3").key, s.node("n3").scheme
				s.change = func(c *gossip.Config) { c.Peers = c.Peers[:2] } // or it would know its own key as a peer's
				twin.start()
				s.within(2*time.Minute, "all others are told, and the first host stands back", func() bool {
					for _, n := range s.nodes {
						if n != twin && len(told[gossip.Twin](n)) == 0 {
							return false
						}
					}
					return s.node("n3").status().State == "standing back"
				})
				pass(10 * time.Second)
				for _, n := range s.nodes {
					all := told[gossip.Twin](n)
					if (len(all) > 0) != (n != twin) {
						t.Errorf("%s was told of twins %d times", n.name, len(all))
					}
					for _, e := range all {
						if e.Hosts != [2]string{"n3@n3", "n9@n9"} {
							t.Errorf("%s names %v", n.name, e.Hosts)
						}
					}
				}
				if st := s.node("n3").status(); st.State != "standing back" {
					t.Errorf("the first host is %v", st.State)
				}
			})
		})
	}
}

// New lists every fault of a configuration.
func TestFaults(t *testing.T) {
	t.Parallel()
	if _, err := gossip.New(gossip.Config{}); err == nil {
		t.Error("it runs without a transport")
	}
	if _, err := gossip.New(gossip.Config{Transport: memory.New(1).Roam("n1", [32]byte{1})}); err == nil || !strings.Contains(err.Error(), "key is required") {
		t.Errorf("without a key: %v", err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gossip.New(gossip.Config{Transport: memory.New(1).Roam("n1", [32]byte{1}), Key: other}); err == nil || !strings.Contains(err.Error(), "Ed25519") {
		t.Errorf("with a key of another kind: %v", err)
	}
	key := keyOf(t, "n1")
	end := memory.New(1).Roam("n1", key.Subject())
	_, err = gossip.New(gossip.Config{
		Transport: end, Key: signerOf("n1"), Contacts: []string{"n7"},
		Peers: []gossip.Peer{
			{Name: "n1"}, {}, {Name: "n2", Subject: wire.Subject{2}}, {Name: "n2"}, {Name: "n3", Subject: wire.Subject{2}}, {Name: "n4", Subject: key.Subject()},
		},
		Namespaces: []gossip.Namespace{{Name: "site", Diameter: 1, Electors: []wire.Subject{key.Subject(), {9}}}},
	})
	for _, fault := range []string{
		"diameter of 1", `"n1" has the name of this node`, "peer 2 has a name of 0 bytes", `"n2" is named twice`,
		`"n3" has the key of "n2"`, `"n4" has the key of "n1"`, `contact "n7" is none of the peers`, "elector 09000000 is none of the peers",
	} {
		if err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("want %q among the faults: %v", fault, err)
		}
	}
}

// A line that is taken ends Run at once.
func TestATakenLine(t *testing.T) {
	bubble(t, func(t *testing.T, s *site) {
		for _, line := range []string{core.LineGossip, core.LineOverlay} {
			n := s.add(fmt.Sprint("n", len(s.nodes)+1), false)
			n.end = s.net.Roam(n.name, n.key)
			other, err := n.end.Open(line)
			if err != nil {
				t.Fatal(err)
			}
			a, err := gossip.New(n.config())
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Run(t.Context()); !errors.Is(err, transport.ErrTaken) {
				t.Errorf("got %v", err)
			}
			other.Close()
		}
	})
}
