package overlay

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/storytest"
)

var update = flag.Bool("update", false, "rewrite the actions in the stories and the table")

// In a story in testdata a line is an input, and the indented lines after it are the actions that it causes. The node is
// called a. Its own messages have numbers that begin with N; those of others have any.
func TestStories(t *testing.T) {
	t.Parallel()
	storytest.Run(t, *update, func(t *testing.T) func(string) []string {
		s := &story{t: t}
		return func(line string) []string { return s.tell(strings.Fields(line)) }
	})
}

// story is a machine that people can follow.
type story struct {
	t    testing.TB
	m    *Machine
	base uint64 // of its numbers
}

// play tells several lines, and returns what the last one causes.
func (s *story) play(lines ...string) (done []string) {
	for _, line := range lines {
		done = s.tell(strings.Fields(line))
	}
	return done
}

// start reads "node seed=2 floor=1 contacts b c".
func (s *story) start(words []string) {
	c := Config{Self: Peer{Name: "a", Address: "at-a"}, Incarnation: 1, Seed: 1}
	for _, word := range words {
		key, value, is := strings.Cut(word, "=")
		n, _ := strconv.Atoi(value)
		switch {
		case is && key == "seed":
			c.Seed = uint64(n)
		case is && key == "floor":
			c.floor = n
		case is && key == "every":
			c.every = n
		case word != "contacts":
			c.Contacts = append(c.Contacts, Peer{Name: word})
		}
	}
	if err := c.Validate(); err != nil {
		s.t.Fatal(err)
	}
	s.m = New(c)
	s.base, s.m.periodAt = s.m.number, s.m.cfg.every
}

func (s *story) tell(words []string) (done []string) {
	switch words[0] {
	case "node":
		s.start(words[1:])
		return nil
	case "view":
		return []string{fmt.Sprintf("%s; cache %v; lost %v; neighbours %v", s.view(), s.m.Snapshot().Cache, s.m.Snapshot().Lost, s.m.Neighbours())}
	case "tick":
		n := 1
		if len(words) > 1 {
			n, _ = strconv.Atoi(words[1])
		}
		for range n {
			done = append(done, s.step(Tick{})...)
		}
		return done
	}
	return s.step(s.input(words))
}

func (s *story) step(in Input) (done []string) {
	for _, a := range s.m.Step(in) {
		done = append(done, s.say(a))
	}
	return done
}

// view prints the arcs in their order, with their ages.
func (s *story) view() string {
	var all []string
	for _, a := range s.m.view {
		all = append(all, fmt.Sprintf("%s/%d", a.peer.Name, a.age))
	}
	return fmt.Sprintf("view %v", all)
}

// input reads "up b", "down b", "leave", "keep b c", or a message such as "b exchange 7 c d".
func (s *story) input(words []string) Input {
	switch words[0] {
	case "leave":
		return Leave{}
	case "keep":
		var k Keep
		for _, name := range words[1:] {
			k.Peers = append(k.Peers, Peer{Name: name})
		}
		return k
	case "up":
		return Up{Peer: words[1]}
	case "down":
		return Down{Peer: words[1]}
	}
	from, args := words[0], words[2:]
	number := uint64(0)
	if len(args) > 0 {
		number = s.number(args[0])
	}
	var peers []Peer
	for i, name := range args {
		if i > 0 {
			peers = append(peers, Peer{Name: name})
		}
	}
	var m Message
	switch words[1] {
	case "hello":
		m = Hello{Address: "at-" + from, Incarnation: number, Holds: args[1] == "needs"}
	case "subscribe":
		m = Subscribe{Number: number}
	case "welcome":
		m = Welcome{Number: number, Met: peers}
	case "forward":
		m = Forward{Number: number, Newcomer: peers[0]}
	case "exchange":
		m = Exchange{Number: number, Arcs: peers}
	case "exchanged":
		m = Exchanged{Number: number, Arcs: peers}
	case "goodbye":
		m = Goodbye{}
	case "nothing":
	default:
		s.t.Fatalf("no such input: %q", words)
	}
	return Received{From: from, Message: m}
}

func (s *story) number(word string) uint64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(word, "N"), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	if strings.HasPrefix(word, "N") {
		n += s.base
	}
	return n
}

// say returns an action as a line of a story.
func (s *story) say(a Action) string {
	number := func(n uint64) string {
		if n > s.base && n < s.base+1000 {
			return fmt.Sprint("N", n-s.base)
		}
		return fmt.Sprint(n)
	}
	switch a := a.(type) {
	case Connect:
		return "connect to " + a.Peer.Name
	case Disconnect:
		return "disconnect " + a.Peer
	case Gained:
		return a.Peer + " is a neighbour"
	case Lost:
		return a.Peer + " is no neighbour"
	case Refused:
		return fmt.Sprintf("refuse %s: %s", a.From, a.Why)
	case Send:
		to := "to " + a.To + ": "
		switch m := a.Message.(type) {
		case Hello:
			return to + fmt.Sprintf("hello from %s, start %d, needs it %v", m.Address, m.Incarnation, m.Holds)
		case Subscribe:
			return to + "subscribe " + number(m.Number)
		case Welcome:
			return to + fmt.Sprintf("welcome %s %v", number(m.Number), namesOf(m.Met))
		case Forward:
			return to + fmt.Sprintf("forward %s %s", number(m.Number), m.Newcomer.Name)
		case Exchange:
			return to + fmt.Sprintf("exchange %s %v", number(m.Number), namesOf(m.Arcs))
		case Exchanged:
			return to + fmt.Sprintf("exchanged %s %v", number(m.Number), namesOf(m.Arcs))
		case Goodbye:
			return to + "goodbye"
		}
	}
	s.t.Fatalf("no words for %T", a)
	return ""
}
