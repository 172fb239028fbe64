package quorum_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum"
)

// raw is a node that says whatever a test has it say.
type raw struct {
	s    *site
	line transport.Line
}

// raw takes the place of a node under its name.
func (s *site) raw(name string) *raw {
	s.t.Helper()
	for _, n := range s.nodes {
		if n.name == name {
			n.kill()
		}
	}
	line, err := s.net.Join(name).Open("log")
	if err != nil {
		s.t.Fatal(err)
	}
	return &raw{s: s, line: line}
}

func (r *raw) say(to string, m wire.Body) {
	r.s.t.Helper()
	body, err := wire.Encode(wire.Message{Log: r.s.genesis.ID(), Body: m})
	if err != nil {
		r.s.t.Fatal(err)
	}
	if err := r.line.Send(to, body); err != nil {
		r.s.t.Fatal(err)
	}
}

// hears waits for a message of a kind.
func hears[M wire.Body](r *raw) M {
	r.s.t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case e := <-r.line.Inbox():
			m, err := wire.Decode(e.Body)
			if err != nil {
				r.s.t.Fatal(err)
			}
			if is, ok := m.Body.(M); ok {
				return is
			}
		case <-limit:
			r.s.t.Fatal("no such message came")
		}
	}
}

// later calls something that waits, and brings what came of it.
func later[A any](what func() (A, error)) <-chan result[A] {
	out := make(chan result[A], 1)
	go func() {
		a, err := what()
		out <- result[A]{a, err}
	}()
	return out
}

type result[A any] struct {
	is  A
	err error
}

// An answer that was meant for what a node asked before it began anew is not one of what it asks now (V2, V6).
func TestAnAnswerOfAnEarlierProcess(t *testing.T) {
	earlier(t, func(_ *site, _ *raw, n *node) { n.kill(); n.start() })
}

// So it is if the host alone has begun anew: the first message of a member makes one of this node; nobody leads, so it gives that
// up.
func TestAnAnswerOfAnEarlierCore(t *testing.T) {
	earlier(t, func(s *site, member *raw, n *node) {
		id := s.genesis.ID()
		refusal := append(append([]byte{1, 2}, id[:]...), 1, 2, 1, 1) // from store 1 to store 2: what is in it means nothing to n2
		member.say("n2", wire.Quorum{Bytes: refusal})
		s.within(10*time.Second, "the node has begun anew", func() bool {
			return n.told(func(e quorum.Event) bool { _, is := e.(quorum.Rebuilt); return is })
		})
	})
}

func earlier(t *testing.T, begins func(*site, *raw, *node)) {
	t.Helper()
	bubble(t, 1, 1, func(t *testing.T, s *site) {
		member, n := s.raw("n1"), s.nodes[1]
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		goal := func(id string) <-chan result[txlog.Answer] {
			return later(func() (txlog.Answer, error) { return n.run.Load().Goal(ctx, id, []byte(id), 1) })
		}
		a := goal("a")
		old := hears[wire.GoalSent](member)
		ra := n.fresh(ctx)
		oldRead := hears[wire.Confirm](member)
		begins(s, member, n)
		for _, err := range []error{(<-a).err, (<-ra).err} {
			if !errors.Is(err, txlog.ErrUnknown) {
				t.Fatalf("who waited was told %v", err)
			}
		}
		b := goal("b")
		hears[wire.GoalSent](member)
		rb := n.fresh(ctx)
		hears[wire.Confirm](member)
		member.say("n2", wire.GoalDone{Try: old.Try, Answer: txlog.Answer{Index: 1, Result: []byte("of a")}})
		member.say("n2", wire.Confirmed{Serial: oldRead.Serial})
		pass(2 * round)
		if len(b) > 0 {
			t.Errorf("goal b was answered with what became of goal a: %+v", <-b)
		}
		if len(rb) > 0 {
			t.Errorf("a read was answered by what was said of an earlier one: %+v", <-rb)
		}
	})
}

// fresh reads what a majority has, and brings up to where.
func (n *node) fresh(ctx context.Context) <-chan result[uint64] {
	return later(func() (uint64, error) {
		_, at, err := n.run.Load().Fresh(ctx, []byte(`{"get":"a"}`))
		return at.Index, err
	})
}

// A linearizable read believes only the member that was asked.
func TestAStrangerConfirms(t *testing.T) {
	bubble(t, 1, 2, func(t *testing.T, s *site) {
		member, stranger, n := s.raw("n1"), s.raw("n3"), s.nodes[1]
		read := n.fresh(t.Context())
		serial := hears[wire.Confirm](member).Serial
		stranger.say("n2", wire.Confirmed{Serial: serial})
		pass(2 * round)
		select {
		case r := <-read:
			t.Fatalf("a node that is no member was believed: %+v", r)
		default:
		}
		member.say("n2", wire.Confirmed{Serial: serial})
		if r := <-read; r.err != nil {
			t.Error(r.err)
		}
	})
}

// told reports whether people were told such an event.
func (n *node) told(is func(quorum.Event) bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.events, is)
}
