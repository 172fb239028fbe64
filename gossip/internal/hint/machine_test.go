package hint

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// B1: every parameter of document 003 can be set, the defaults are the document's, and each fault is named.
func TestParameters(t *testing.T) {
	t.Parallel()
	p := PaperConfig{}.withDefaults()
	want := PaperConfig{Diameter: 8, DeltaC: 50 * time.Millisecond, DeltaE: 100 * time.Millisecond, DeltaD: 200 * time.Millisecond, DeltaR: 300 * time.Millisecond, Hysteresis: 1}
	if p != want || p.validFor() != 50*time.Millisecond+16*300*time.Millisecond {
		t.Errorf("got %+v, valid for %v", p, p.validFor())
	}
	for every, want := range map[int]int{1: 10, 10: 10, 20: 20} { // the crowd is told no more often than electors
		if got := (Namespace{Every: every}).crowdBeat(); got != want {
			t.Errorf("with beats each %d rounds the crowd has one each %d, want %d", every, got, want)
		}
	}
	c := Config{
		Host: strings.Repeat("h", wire.MostName+1), Round: -1,
		Namespaces: []Namespace{
			{}, {Name: "a", Policy: "vote", Diameter: 1, Every: -1, Electors: []wire.Subject{{1}, {1}}},
			{Name: "a", Paper: PaperConfig{DeltaE: 300 * time.Millisecond, Hysteresis: -1}},
		},
	}
	err := c.Validate()
	for _, fault := range []string{
		"the own key is missing", "incarnation is zero", "a scheme is required", "a host of 65 bytes", "a number is below 0",
		"a name of 0 bytes", `policy "vote"`, "diameter of 1", "beats each -1 rounds", "an elector twice", `"a" is named twice`, "the phases", "below its least",
	} {
		if err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("want %q among the faults: %v", fault, err)
		}
	}
}

// B6: with longer rounds a vote leaves as many times less.
func TestLongerRounds(t *testing.T) {
	t.Parallel()
	votes := func(round time.Duration) (n int) {
		m := New(Config{Self: named("z"), Incarnation: 1, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site", Policy: Paper, Paper: PaperConfig{DeltaR: round}}}})
		m.Step(0, Arcs{Peers: []Peer{{Name: "a", Subject: named("a")}}})
		for now := time.Duration(0); now < 9*time.Second; now += 25 * time.Millisecond {
			for _, a := range m.Step(now, Tick{}) {
				if s, is := a.(Send); is && len(s.Parcel.Said) > 0 {
					n++
				}
			}
		}
		return n
	}
	if short, long := votes(300*time.Millisecond), votes(time.Second); short != 30 || long != 9 {
		t.Errorf("in nine seconds %d votes with rounds of 300 ms, and %d with rounds of a second; want 30 and 9", short, long)
	}
}

// B3: of three that differ the document picks one at random, and so does RandomOnTie; the order picks the same at every
// node.
func TestATie(t *testing.T) {
	t.Parallel()
	winners := func(random bool) map[string]bool {
		found := map[string]bool{}
		for seed := range uint64(64) {
			m := New(Config{Self: named("z"), Incarnation: 1, Seed: seed, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site", Policy: Paper, Paper: PaperConfig{RandomOnTie: random}}}})
			found[nameOf(m.sampleWinner(m.order[0], []wire.Subject{named("a"), named("b"), named("c")}))] = true
		}
		return found
	}
	if order, random := winners(false), winners(true); len(order) != 1 || len(random) != 3 {
		t.Errorf("the order picks %v, chance %v; want one and three", order, random)
	}
}

// With keys of ed25519: what a node says is taken by another one, and what anybody changes is not (own-signature).
func TestKeys(t *testing.T) {
	t.Parallel()
	machine := func(seed byte) (*Machine, wire.Subject) {
		e, err := NewPinned(ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune('a'+seed)), ed25519.SeedSize))))
		if err != nil {
			t.Fatal(err)
		}
		return New(Config{Self: e.Subject(), Incarnation: 1, Scheme: e, Namespaces: []Namespace{{Name: "site"}}}), e.Subject()
	}
	from, subject := machine(1)
	to, _ := machine(2)
	from.Step(0, Arcs{Peers: []Peer{{Name: "to"}}})
	to.Step(0, Arcs{Peers: []Peer{{Name: "from", Subject: subject}}})
	var parcel wire.Parcel
	for _, a := range from.Step(1, Publish{Namespace: "site", Topic: "flags", Body: []byte("on")}) {
		parcel = a.(Send).Parcel
	}
	changes := map[string]func(*wire.Said){
		"body": func(s *wire.Said) { s.Body = []byte("off") }, "sequence": func(s *wire.Said) { s.Sequence++ },
		"topic": func(s *wire.Said) { s.Topic = "prices" }, "incarnation": func(s *wire.Said) { s.Incarnation++ },
		"subject": func(s *wire.Said) { s.Subject[0]++ }, "signature": func(s *wire.Said) { s.Signature = nil },
	}
	for name, change := range changes {
		said := parcel.Said[0]
		change(&said)
		out := to.Step(2, Received{From: "from", Parcel: wire.Parcel{Said: []wire.Said{said}}})
		if r, is := out[0].(Refused); !is || !errors.Is(r.Why, ErrSignature) || r.From != "from" {
			t.Errorf("another %s: got %+v", name, out)
		}
	}
	if out := to.Step(3, Received{From: "from", Parcel: parcel}); len(out) == 0 || string(out[0].(Heard).Body) != "on" {
		t.Errorf("what was signed is not heard: %+v", out)
	}
	if n := to.Refusals()[ErrSignature]; n != len(changes) {
		t.Errorf("%d refusals were counted, want %d", n, len(changes))
	}
}

// News and topics are bounded, whatever peers send: the oldest news makes room, and a subject has so many topics.
func TestBounds(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: named("z"), Incarnation: 1, Scheme: honest{named("z")}, flood: 1 << 20, Namespaces: []Namespace{{Name: "site"}}})
	m.Step(0, Arcs{Peers: []Peer{{Name: "a"}}})
	heard, refused := 0, 0
	for i := range 64 {
		for j := range MostTopics + 1 {
			s := wire.Said{Statement: wire.Statement{Subject: named(fmt.Sprint("s", i)), Incarnation: 1, Sequence: uint64(j + 1), Namespace: "site", Topic: fmt.Sprint(j)}}
			s.Signature = honest{s.Subject}.Sign(s.Signed())
			for _, a := range m.Step(time.Duration(i)*m.cfg.Round, Received{From: "a", Parcel: wire.Parcel{Said: []wire.Said{s}}}) {
				switch a := a.(type) {
				case Heard:
					heard++
				case Refused:
					if errors.Is(a.Why, ErrTopics) {
						refused++
					}
				}
			}
		}
	}
	if heard != 64*MostTopics || refused != 64 || len(m.news) != mostNews {
		t.Errorf("%d pieces were heard, %d refused, %d kept; want %d, 64 and %d", heard, refused, len(m.news), 64*MostTopics, mostNews)
	}
}

// However much a node tells, and wherever, its reserved topics find room, each of them once; they take none that is not theirs. One that has
// not been used for long keeps its place.
func TestReservedTopicsFindRoom(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: named("z"), Incarnation: 1, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site"}, {Name: "other"}}, Reserved: []string{"a", "b", "c"}})
	now := time.Duration(0)
	publish := func(namespace, topic string) bool {
		for _, a := range m.Step(now, Publish{Namespace: namespace, Topic: topic}) {
			if _, refused := a.(Refused); refused {
				return false
			}
		}
		return true
	}
	fill := func(name string) (told int) {
		for i := range 2 * MostTopics {
			if publish([]string{"site", "other"}[i%2], fmt.Sprint(name, i)) {
				told++
			}
		}
		return told
	}
	if !publish("site", "a") {
		t.Fatal("the first one is refused")
	}
	if told := fill("one "); told != MostTopics-3 {
		t.Errorf("%d topics are told, and 3 are reserved", told)
	}
	if publish("other", "b") {
		t.Error("a topic of another namespace takes the place of a reserved one")
	}
	for _, topic := range []string{"b", "c", "a", "b"} {
		if !publish("site", topic) {
			t.Errorf("%s finds no room", topic)
		}
	}
	now = 90 * time.Second // all of that is too old to be told
	if told := fill("two "); told != MostTopics-3 || !publish("site", "c") || !publish("site", "a") || !publish("site", "b") || publish("site", "d") {
		t.Errorf("later %d topics are told, and the reserved ones find no room", told)
	}
}

// News that is too old to be told takes no topic of its subject any more, and after as long again nothing is left of it. (The
// machine of old news is in testdata/old-news.txt.)
func TestOldNewsIsForgotten(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: named("z"), Incarnation: 1, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site", Electors: []wire.Subject{named("a")}}}})
	publish := func(now time.Duration, topic string) (refused bool) {
		for _, a := range m.Step(now, Publish{Namespace: "site", Topic: topic, Body: []byte("on")}) {
			_, refused = a.(Refused)
		}
		return refused
	}
	for i := range MostTopics + 1 {
		if refused := publish(0, fmt.Sprint(i)); refused != (i == MostTopics) {
			t.Fatalf("topic %d: refused %t", i, refused)
		}
	}
	if m.Step(90*time.Second, Tick{}); len(m.News()) > 0 {
		t.Errorf("%d pieces are told, and all are too old", len(m.News()))
	}
	for i := range MostTopics {
		if publish(90*time.Second, fmt.Sprint(i+16)) {
			t.Errorf("topic %d is refused, and the old ones are too old to be told", i+16)
		}
	}
	if !publish(90*time.Second, "0") {
		t.Error("an old topic is taken up again, and there is no room for it")
	}
	m.Step(2*time.Minute+time.Second, Tick{})
	if len(m.News()) != MostTopics || len(m.news) != MostTopics || !publish(2*time.Minute+time.Second, "0") {
		t.Errorf("%d pieces are told and %d known, want %d, and no room for one more", len(m.News()), len(m.news), MostTopics)
	}
	m.Step(4*time.Minute, Tick{})
	if len(m.news) > 0 || len(m.topics) > 0 {
		t.Errorf("%d pieces and the topics of %d subjects are left, want nothing", len(m.news), len(m.topics))
	}
}

// Publishing what nobody would take is refused at once.
func TestBadNewsIsNotSent(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: named("z"), Incarnation: 1, Scheme: honest{named("z")}, Namespaces: []Namespace{{Name: "site"}}})
	for _, c := range []struct {
		in   Publish
		want error
	}{
		{Publish{Namespace: "elsewhere", Topic: "t"}, ErrNamespace},
		{Publish{Namespace: "site"}, ErrNamespace},
		{Publish{Namespace: "site", Topic: "t", Body: make([]byte, wire.MostBody+1)}, wire.ErrSize},
	} {
		out := m.Step(0, c.in)
		if r, is := out[len(out)-1].(Refused); !is || !errors.Is(r.Why, c.want) {
			t.Errorf("%+v: got %+v, want %v", c.in, out, c.want)
		}
	}
}

// The order of candidates never changes: nodes of different releases have to agree. The value is that of another program.
func TestTheOrderNeverChanges(t *testing.T) {
	t.Parallel()
	if got, want := orderHash("site", wire.Subject{1}), uint64(0x312d4b2be3fc7a6b); got != want {
		t.Errorf("got %#x, want %#x", got, want)
	}
}

// A subject that says much more than a heartbeat a round is heard, and so much of it only is passed on: its relays never
// look like a flood to their peers.
func TestAFloodOfHeartbeats(t *testing.T) {
	t.Parallel()
	for name, subject := range map[string]func(i int) string{
		"one key":   func(int) string { return "a" },
		"many keys": func(i int) string { return fmt.Sprint("s", i) },
	} {
		m, n, passed := crowded(9), 0, 0
		var now time.Duration
		for range 50 {
			now += m.cfg.Round
			for p := range 8 {
				var all []wire.Said
				for range 200 {
					n++
					beat := wire.Heartbeat{Stands: true, Seniority: uint64(n)}
					all = append(all, invented(subject(n), uint64(n), "", 0, beat.Body()))
				}
				for _, a := range m.brings(now, fmt.Sprint("p", p), all...) {
					if s, is := a.(Send); is {
						passed += len(s.Parcel.Said)
					}
				}
			}
		}
		if most := 58 * (mostBeats + standbys*beatsEach); passed > most || passed < 50 {
			t.Errorf("%s: %d of %d heartbeats were passed on in 50 rounds; want %d at most", name, passed, n, most)
		}
		for _, k := range m.Snapshot()[0].Known {
			if name == "one key" && k.Seniority+200 < uint64(n) {
				t.Errorf("none of the last peer's heartbeats is known: %d of %d", k.Seniority, n)
			}
		}
		out := m.brings(now+m.cfg.Round, "p8", invented("b", 1, "", 0, wire.Heartbeat{Stands: true, Leads: true, Reign: 9}.Body()))
		if name == "one key" && len(out) < 2 {
			t.Errorf("another leader is not passed on: %+v", out)
		}
	}
}

// An honest node between floods relays no more of them than its next peer lets an honest one relay: that peer names it never, and a guest that
// floods it directly at once when that is spent.
func TestARelayOfFloodsIsNotNamed(t *testing.T) {
	t.Parallel()
	named := func(m *Machine, out []Action) (n int) {
		for _, a := range out {
			if r, is := a.(Refused); is && errors.Is(r.Why, ErrNews) && m.now >= m.telling.quiet {
				n++
			}
		}
		return n
	}
	for _, guests := range []int{1, 2, 4} {
		relay, next := crowded(guests), crowded(1)
		n, accused, caught := 0, 0, 0
		for round := range 40 {
			now := time.Duration(round+1) * relay.cfg.Round
			var sent []Send
			for g := range guests {
				for range 100 {
					n++
					out := relay.brings(now, fmt.Sprint("p", g), invented(fmt.Sprint("s", n), 1, "t", 0, nil))
					sent, caught = append(sent, of[Send](out)...), caught+named(relay, out)
				}
			}
			for _, s := range sent {
				accused += named(next, next.Step(now+relay.cfg.Round/2, Received{From: "p0", Parcel: s.Parcel}))
			}
		}
		if accused > 0 {
			t.Errorf("of %d guests' floods: the honest relay is named %d times", guests, accused)
		}
		if guests == 1 && caught == 0 {
			t.Error("the one guest that floods is not named")
		}
	}
}
