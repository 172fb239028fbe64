package hint

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/internal/storytest"
)

var update = flag.Bool("update", false, "rewrite the actions in the stories")

// In a story in testdata a line is an input, and the indented lines after it are the actions that it causes. The machine
// is z; the others are a, b, c and so on, each a peer by its own name. The first line may begin with "with".
func TestStories(t *testing.T) {
	t.Parallel()
	storytest.Run(t, *update, func(t *testing.T) func(string) []string {
		s := &story{t: t, sequences: map[string]uint64{}}
		s.now = 5 * time.Hour // clocks begin anywhere
		return func(line string) []string { return s.tell(strings.Fields(line)) }
	})
}

func named(name string) (s wire.Subject) {
	copy(s[:], name)
	return s
}

func nameOf(s wire.Subject) string { return strings.TrimRight(string(s[:]), "\x00") }

// honest is a scheme whose signatures people can read: the subject's name, and its words.
type honest struct{ self wire.Subject }

func (h honest) Sign(b []byte) []byte { return append([]byte(nameOf(h.self)+":"), byte(len(b))) }

func (honest) Verify(by wire.Subject, b, signature []byte) bool {
	return string(signature) == string(honest{by}.Sign(b))
}

// story is a machine with names for what it hears.
type story struct {
	t         testing.TB
	now       time.Duration
	m         *Machine
	ns        Namespace
	sequences map[string]uint64
	peers     []string
	watch     func(Action) // sees each action; it may be nil
}

func (s *story) machine() *Machine {
	if s.m == nil {
		s.ns.Name = "site"
		c := Config{
			Self: named("z"), Host: "host-z", Incarnation: 10, Scheme: honest{named("z")}, Namespaces: []Namespace{s.ns},
			flood: 2,
		}
		if err := c.Validate(); err != nil {
			s.t.Fatal(err)
		}
		s.m = New(c)
	}
	return s.m
}

func (s *story) step(in Input) (done []string) {
	for _, a := range s.machine().Step(s.now, in) {
		if s.watch != nil {
			s.watch(a)
		}
		done = append(done, s.say(a))
	}
	return done
}

func (s *story) tell(words []string) (done []string) {
	switch words[0] {
	case "with":
		return s.with(words[1:])
	case "peers":
		s.peers = words[1:]
		in := Arcs{}
		for _, name := range words[1:] {
			in.Peers = append(in.Peers, Peer{Name: name, Subject: named(name)})
		}
		return s.step(in)
	case "wait": // so many rounds
		n, err := strconv.ParseFloat(words[1], 64)
		if err != nil {
			s.t.Fatal(err)
		}
		for end := s.now + time.Duration(n*float64(100*time.Millisecond)); s.now < end; {
			s.now += 25 * time.Millisecond
			done = append(done, s.step(Tick{})...)
		}
		return done
	case "freeze", "still": // the process stands still; "still": its first input is not that time has passed
		n, _ := strconv.Atoi(words[1])
		s.now += time.Duration(n) * 100 * time.Millisecond
		if words[0] == "still" {
			return nil
		}
		return s.step(Tick{})
	case "seniority":
		n, _ := strconv.ParseUint(words[1], 10, 64)
		return s.step(Seniority{Namespace: "site", Value: n})
	case "withdraw":
		return s.step(Withdraw{Namespace: "site", Why: "its user cannot work"})
	case "publish":
		return s.step(Publish{Namespace: "site", Topic: words[1], Body: []byte(strings.Join(words[2:], " "))})
	case "status":
		return s.status()
	case "tick":
		s.now += 25 * time.Millisecond
		return s.step(Tick{})
	case "faulty": // a peer has sent what nobody can read
		return s.step(Message{From: words[1], Body: []byte("garbage")})
	case "open": // a peer begins an exchange, and knows nothing
		return s.step(Received{From: words[1], Parcel: wire.Parcel{Opening: true}})
	}
	return s.step(Received{From: s.via(words), Parcel: wire.Parcel{Said: s.said(words)}})
}

func (s *story) with(words []string) []string {
	s.ns.Every = 1
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "electors":
			for name := range strings.SplitSeq(value, ",") {
				s.ns.Electors = append(s.ns.Electors, named(name))
			}
		case "policy":
			s.ns.Policy = value
		case "random":
			s.ns.Paper.RandomOnTie = true
		case "tenure":
			n, _ := strconv.Atoi(value)
			s.ns.Paper.Tenure = time.Duration(n) * s.ns.Paper.withDefaults().DeltaR
		case "hysteresis":
			s.ns.Paper.Hysteresis, _ = strconv.Atoi(value)
		default:
			s.t.Fatalf("no such setting: %s", word)
		}
	}
	return nil
}

// said reads "a leads reign=3" as a heartbeat of a, "news a flags on" as news and "vote a for b" as a vote.
func (s *story) said(words []string) []wire.Said {
	kind := "beat"
	if words[0] == "news" || words[0] == "vote" {
		kind, words = words[0], words[1:]
	}
	who := words[0]
	s.sequences[who]++
	said := wire.Said{Statement: wire.Statement{Subject: named(who), Incarnation: 1, Sequence: s.sequences[who], Namespace: "site"}}
	beat, signer, count := wire.Heartbeat{Stands: true, Wide: true, Host: "host-" + who}, who, 1
	var plain []string
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch key {
		case "leads":
			beat.Leads = true
		case "rests":
			beat.Stands = false
		case "near":
			beat.Wide = false
		case "reign":
			beat.Reign, _ = strconv.ParseUint(value, 10, 64)
		case "top":
			beat.Top, _ = strconv.ParseUint(value, 10, 64)
		case "seniority":
			beat.Seniority = uint64(n)
		case "age":
			said.Age = int32(n)
		case "seq":
			said.Sequence = uint64(n)
		case "inc":
			said.Incarnation = uint64(n)
		case "host":
			beat.Host = value
		case "signer":
			signer = value
		case "namespace":
			said.Namespace = value
		case "size":
			said.Body = make([]byte, n)
		case "times":
			count = int(n)
		case "via":
		default:
			plain = append(plain, word)
		}
	}
	switch {
	case kind == "beat":
		said.Body = beat.Body()
	case kind == "vote":
		said.Body = wire.Vote{Leader: named(plain[len(plain)-1]), Sequence: 1}.Body()
	case said.Body == nil:
		said.Topic, said.Body = plain[0], []byte(strings.Join(plain[1:], " "))
	default:
		said.Topic = plain[0]
	}
	var all []wire.Said
	for range count {
		said.Signature = honest{named(signer)}.Sign(said.Signed())
		all = append(all, said)
		said.Sequence++
	}
	s.sequences[who] = said.Sequence - 1
	return all
}

// via is the peer that brings a statement: its subject, if nothing else is said.
func (s *story) via(words []string) string {
	for _, word := range words {
		if name, is := strings.CutPrefix(word, "via="); is {
			return name
		}
	}
	if words[0] == "news" || words[0] == "vote" {
		return words[1]
	}
	return words[0]
}

func (s *story) say(a Action) string {
	switch a := a.(type) {
	case Send:
		return "to " + strings.Join(a.To, ", ") + ": " + describe(a.Parcel)
	case Suggested:
		switch {
		case a.Self:
			return fmt.Sprintf("suggests itself, reign %d", a.Reign)
		case a.Leader == wire.Subject{}:
			return "suggests nobody"
		}
		return fmt.Sprintf("suggests %s, reign %d", nameOf(a.Leader), a.Reign)
	case Heard:
		return fmt.Sprintf("hears %s of %s, %d rounds old: %s", a.Topic, nameOf(a.Subject), a.Age, a.Body)
	case SteppedDown:
		return fmt.Sprintf("steps down from reign %d for %d rounds: %v", a.Reign, a.For/(100*time.Millisecond), a.Why)
	case Refused:
		return fmt.Sprintf("refuses %q by %q: %v", nameOf(a.Subject), a.From, a.Why)
	case Twin:
		return fmt.Sprintf("%s has a twin: %s and %s", nameOf(a.Subject), a.Hosts[0], a.Hosts[1])
	}
	return fmt.Sprintf("%T", a)
}

func describe(p wire.Parcel) string {
	var parts []string
	if p.Opening {
		parts = append(parts, fmt.Sprintf("what do you know beside these %d?", len(p.Marks)))
	}
	for _, said := range p.Said {
		text := nameOf(said.Subject) + " says"
		if h, err := wire.ReadHeartbeat(said.Body); err == nil && said.Topic == "" {
			for _, f := range []struct {
				is   bool
				word string
			}{{h.Leads, "it leads"}, {!h.Leads && h.Stands, "it stands"}, {!h.Stands, "it rests"}} {
				if f.is {
					text += " " + f.word
				}
			}
			text += fmt.Sprint(", reign ", h.Reign)
		} else if v, err := wire.ReadVote(said.Body); err == nil {
			text += " it has chosen " + nameOf(v.Leader)
		} else {
			text += fmt.Sprintf(" %s: %s", said.Topic, said.Body)
		}
		if said.Age > 0 {
			text += fmt.Sprintf(" (%d rounds old)", said.Age)
		}
		parts = append(parts, text)
	}
	if len(p.Wants) > 0 {
		parts = append(parts, fmt.Sprintf("I lack %d", len(p.Wants)))
	}
	return strings.Join(parts, "; ")
}

// Suggestion returns the suggested leader of a namespace.
func (m *Machine) Suggestion(namespace string) Suggestion {
	if s := m.seats[namespace]; s != nil {
		return s.suggested
	}
	return Suggestion{}
}

func (s *story) status() (done []string) {
	for _, st := range s.m.Snapshot() {
		leader := "nobody"
		if st.Leader != (wire.Subject{}) {
			leader = nameOf(st.Leader)
		}
		done = append(done, fmt.Sprintf("%v; suggests %s, reign %d; highest reign %d; changes %d; leader heard %d ms ago", st.State, leader, st.Reign, st.Top, st.Changes, st.Heard.Milliseconds()))
		for _, k := range st.Known {
			done = append(done, fmt.Sprintf("knows %s, reign %d, seniority %d", nameOf(k.Subject), k.Reign, k.Seniority))
		}
	}
	return done
}

// stories of each state of a node: in an open namespace, with electors, and with the rounds of document 003.
var states = []struct{ name, story string }{
	{"listening", "with\npeers a b"},
	{"alone", "with\npeers\nwait 4"},
	{"following nobody", "with\npeers a b\na seniority=5\nwait 4\na seniority=5"},
	{"following", "with\npeers a b\na seniority=5 leads reign=3\nwait 4\na seniority=5 leads reign=3"},
	{"leading", "with\npeers a b\na seniority=0\nseniority 3\nwait 3\na seniority=0\nwait 1"},
	{"standing back", "with\npeers a b\na seniority=0\nseniority 3\nwait 3\na seniority=0\nwait 1\nwithdraw\nwait 1"},
	{"parted", "with\npeers a b\na seniority=5 leads reign=1\nwait 4\na seniority=5 leads reign=1\nwait 9"},
	{"an elector, listening", "with electors=z,a,b\npeers a b"},
	{"an elector, following", "with electors=z,a,b\npeers a b\na near\nwait 3\na seniority=5 leads reign=3"},
	{"an elector, leading", "with electors=z,a,b\npeers a b\nseniority 3\na near\nwait 3\na near\nwait 1"},
	{"an elector, standing back", "with electors=z,a,b\npeers a b\nseniority 3\na near\nwait 3\na near\nwait 1\nwithdraw\nwait 1"},
	{"an elector, parted", "with electors=z,a,b\npeers a b\na near\nwait 3\na leads reign=1\nwait 9"},
	{"a bystander without a leader", "with electors=a,b,c\npeers a b"},
	{"a bystander, following", "with electors=a,b,c\npeers a b\na leads reign=3"},
	{"paper, alone", "with policy=paper\npeers a b\nwait 4"},
	{"paper, following", "with policy=paper\npeers a b c\nvote a for a\nvote b for a\nwait 3"},
}

var happenings = []string{
	"tick", "wait 9", "freeze 5", "peers", "peers a b", "a", "a near", "a rests reign=3", "a leads reign=1", "a leads reign=9", "a leads reign=9 age=20",
	"b leads reign=2", "a leads reign=9 signer=b", "a leads reign=9 seq=1", "q leads reign=9", "z leads reign=9 inc=99 via=a", "c leads reign=9 via=a",
	"news a flags on", "vote a for b", "open a", "faulty a", "seniority 9", "publish flags on", "withdraw",
}

// Every input in every state: each line of the file is a decision (B2 to B7).
func TestTable(t *testing.T) {
	t.Parallel()
	const file = "testdata/table.golden"
	var b strings.Builder
	for _, state := range states {
		b.WriteString("== " + state.name + "\n")
		for _, line := range happenings {
			s := &story{t: t, sequences: map[string]uint64{}, now: 5 * time.Hour}
			for before := range strings.SplitSeq(state.story, "\n") {
				s.tell(strings.Fields(before))
			}
			b.WriteString(line + "\n")
			for _, done := range append(s.tell(strings.Fields(line)), s.status()...) {
				b.WriteString("    " + done + "\n")
			}
		}
	}
	storytest.Golden(t, *update, file, b.String())
}
