package endorser

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// stage puts a request of alice's with number 1 in a state. Two final ranges are over, and as many checks run as may.
func stage(t *testing.T, at state, strict bool) *scene {
	t.Helper()
	s := newScene(t, func(c *Config) { c.Strict, c.Most = strict, 2 })
	s.attempt("a", "a", nil, nil)
	s.attempt("strange", "strange", []ledger.StateID{{1}}, nil)
	s.step(ledger.Block{Number: 47 + deal.Depth})
	if at != unknown {
		s.step(question(s, asked, "a"))
	}
	if at == answered {
		s.check()
	}
	return s
}

// question returns a request of one kind.
func question(s *scene, e event, of string) Received {
	in := ask("alice", 1, time.Second, wire.Endorse{Range: 4, Attempts: []wire.Whole{s.made[of]}})
	switch e {
	case askedNonsense:
		in.Message.Body = wire.AskList{}
	case askedByStranger:
		in.From = "carol"
	case askedTooOld:
		in.Message.Body = wire.Endorse{Range: 1, Attempts: []wire.Whole{s.made[of]}}
	case askedTooNew:
		in.Message.Body = wire.Endorse{Range: 5, Attempts: []wire.Whole{s.made[of]}}
	case askedByOther:
		in.From = "bob"
	case askedTooMuch:
		for n := uint64(100); s.checks < s.set.Most; n++ {
			s.step(ask("alice", n, time.Second, wire.Endorse{Range: 4, Attempts: []wire.Whole{s.made["a"]}}))
		}
	default:
	}
	return in
}

// Every pair of the table is one of three kinds, and the machine does what the table says.
func TestEveryPair(t *testing.T) {
	t.Parallel()
	for at := range states {
		for e := range events {
			c := table[at][e]
			kinds := 0
			for _, is := range []bool{c.do != nil, c.ignored != "", c.refused != wire.Done} {
				if is {
					kinds++
				}
			}
			if kinds != 1 || (c.do != nil) != (len(c.next) > 0) {
				t.Errorf("%s, %s: handled with the next states, ignored with a reason or refused with one: got %+v", at, e, c)
				continue
			}
			strict := e == askedTooNew || e == askedByOther
			var reached []state
			for _, of := range []string{"a", "strange"} { // one that the rules look at, and one that they do not
				reached = append(reached, tryPair(t, stage(t, at, strict), at, e, of))
			}
			want := c.next
			if c.do == nil {
				want = []state{at}
			}
			slices.Sort(reached)
			if reached = slices.Compact(reached); !slices.Equal(reached, want) {
				t.Errorf("%s, %s: reached %v, want %v", at, e, reached, want)
			}
		}
	}
}

// tryPair lets an event happen, and returns where the request is then.
func tryPair(t *testing.T, s *scene, at state, e event, of string) state {
	t.Helper()
	var in Input
	switch e {
	case checked:
		in = Checked{Of: question(s, asked, of).request(), Outcomes: []Outcome{{Why: wire.Done}}}
	case lapsed:
		s.now += time.Second
		in = Tick{}
	default:
		in = question(s, e, of)
		if received := in.(Received); e == askedByStranger || e == askedByOther { // who has asked before
			if r := s.requests[question(s, asked, of).request()]; r != nil {
				delete(s.requests, r.Request)
				r.Request = received.request()
				s.requests[r.Request] = r
			}
		}
		if got := s.classify(in.(Received)); got != e {
			t.Fatalf("%s, %s: this is classified as %s", at, e, got)
		}
	}
	done := s.step(in)
	c := table[at][e]
	switch {
	case c.refused != wire.Done:
		if len(done) != 1 {
			t.Fatalf("%s, %s: %v, want one answer", at, e, done)
		}
		body, is := done[0].(Send).Message.Body.(wire.Rejected)
		if !is || body.Why != c.refused || body.Text == "" || !s.Idle() && e != askedTooMuch {
			t.Errorf("%s, %s: %+v, want it rejected as %v with a text, and forgotten", at, e, done, c.refused)
		}
	case c.ignored != "":
		if len(done) > 0 {
			t.Errorf("%s, %s: %v, want nothing", at, e, done)
		}
	}
	of1 := question(s, asked, of).request()
	if received, is := in.(Received); is {
		of1 = received.request()
	}
	if r := s.requests[of1]; r != nil {
		return r.state
	}
	return unknown
}

func (r Received) request() Request { return Request{r.From, r.Message.Request} }

// The diagram of the documentation is drawn from the table.
func TestDiagram(t *testing.T) {
	t.Parallel()
	got := Diagram()
	for _, want := range []string{
		"stateDiagram-v2\n    [*] --> unknown\n",
		"\n    unknown --> checking: asked\n", "\n    unknown --> answered: asked\n", "\n    checking --> answered: checked\n", "\n    answered --> unknown: lapsed\n",
		"asked by a stranger (refused as not a member)", "asked for an old range (refused as too old)", "\n    answered --> answered: asked, asked nonsense,",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nhas no %q", got, want)
		}
	}
	if n := strings.Count(got, "-->"); n != 7 {
		t.Errorf("%d arrows, want 7:\n%s", n, got)
	}
	for line := range strings.Lines(got) { // Mermaid ends a label at the second colon
		if strings.Count(line, ":") > 1 || strings.Contains(line, ";") {
			t.Errorf("Mermaid does not read %q", line)
		}
	}
}

// I10: whatever is asked, in any order and however often, each request has one answer, and one that was checked is
// answered the same way each time. At the end nothing is left.
func TestRandomRequests(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		chance := rand.New(rand.NewPCG(seed, 4))
		s := newScene(t, func(c *Config) { c.Most, c.Attempts, c.Strict = 3, 4, seed%5 == 0 })
		names := []string{"a", "b", "c", "d"}
		s.attempt("a", "a", nil, nil)
		s.attempt("b", "bad", []ledger.StateID{s.output("a", 0)}, nil)
		s.attempt("c", "panic", nil, []ledger.StateID{s.output("a", 1)})
		s.attempt("d", "d", []ledger.StateID{s.output("b", 0), s.output("a", 1)}, nil)
		open, answers := map[Request]int{}, 0
		for range 500 {
			var done []Action
			var in Received
			switch n := chance.IntN(10); {
			case n < 6:
				body := wire.Endorse{}
				for range chance.IntN(4) {
					w := s.made[names[chance.IntN(4)]]
					if chance.IntN(4) == 0 {
						w.Outputs = w.Outputs[:1]
					}
					body.Attempts = append(body.Attempts, w)
				}
				if chance.IntN(3) == 0 {
					body.Upstream = append(body.Upstream, s.made["a"])
				}
				in = ask([]ledger.Account{"alice", "bob", "carol", ""}[chance.IntN(3)], uint64(1+chance.IntN(20)), time.Duration(chance.IntN(5000)-100)*time.Millisecond, body)
				if chance.IntN(20) == 0 {
					in.Message.Body = []wire.Body{nil, wire.Noted{}, wire.Rejected{}}[chance.IntN(3)]
				}
				open[in.request()]++
				done = s.step(in)
			case n < 8:
				done = s.check()
			case n < 9:
				s.now += time.Duration(chance.IntN(2000)) * time.Millisecond
				done = s.step(Tick{})
			default:
				done = s.step([]Input{ledger.Block{Number: chance.Uint64N(60)}, ledger.Rewind{}, Checked{Of: Request{From: "alice"}}, Away{Members: []ledger.Account{"bob"}}, nil}[chance.IntN(5)])
			}
			for _, a := range done {
				if send, is := a.(Send); is {
					answers++
					of := Request{send.To, send.Message.Request}
					if open[of] == 0 {
						t.Fatalf("seed %d: an answer to %v, which waits for none", seed, of)
					}
					if open[of] = 0; !kept(s, of, send.Message.Body) {
						t.Fatalf("seed %d: %v has the answer %+v", seed, of, send.Message.Body)
					}
				}
			}
			if s.checks != len(s.pending) || s.checks > 3 || len(s.requests)-s.checks > 4*3+1+500 {
				t.Fatalf("seed %d: %d checks counted, %d run", seed, s.checks, len(s.pending))
			}
			for of, n := range open {
				if r := s.requests[of]; n > 0 && (r == nil || r.state != checking) {
					t.Fatalf("seed %d: %v has no answer", seed, of)
				}
			}
		}
		for len(s.pending) > 0 {
			s.check()
		}
		s.now += time.Hour
		if s.step(Tick{}); !s.Idle() || len(s.order) > 0 || s.checks != 0 || answers < 100 {
			t.Errorf("seed %d: %d requests are left, %d answers", seed, len(s.requests), answers)
		}
	}
}

// kept reports whether an answer is the one that the machine keeps, or a rejection, which it does not.
func kept(s *scene, of Request, body wire.Body) bool {
	r := s.requests[of]
	endorsed, is := body.(wire.Endorsed)
	if !is {
		return r == nil
	}
	return r != nil && r.state == answered && fmt.Sprint(r.verdicts) == fmt.Sprint(endorsed.Verdicts)
}

// Answers are kept for as long as somebody waits, and not longer than is good: no more than four for each check.
func TestAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	s := stage(t, unknown, false)
	for n := range uint64(100) {
		s.step(ask("alice", 1+n, 1e9*time.Second, wire.Endorse{Range: 4, Attempts: []wire.Whole{s.made["strange"]}}))
	}
	if s.step(Tick{}); len(s.requests) != 8 || len(s.order) != 8 {
		t.Errorf("%d answers are kept, want the 8 last", len(s.requests))
	}
	if done := s.step(ask("alice", 100, 0, wire.Endorse{Range: 1})); len(done) != 1 {
		t.Errorf("the last one is forgotten: %v", done)
	}
	if s.now += 29 * time.Second; s.Idle() {
		t.Error("it is idle, and keeps answers")
	}
	s.step(Tick{})
	s.now += time.Second
	if s.step(Tick{}); !s.Idle() {
		t.Errorf("%d answers are kept for longer than Remember", len(s.requests))
	}
}

// A loop that loses an outcome, or a notice that is no request, confuses nobody.
func TestWhatTheLoopMayGetWrong(t *testing.T) {
	t.Parallel()
	s := stage(t, unknown, false)
	notice := question(s, asked, "a")
	notice.Message.Request = wire.RequestID{}
	if done := s.step(notice); len(done) > 0 {
		t.Errorf("a notice is answered: %v", done)
	}
	s.step(question(s, asked, "a"))
	verdict := func(done []Action) *wire.Verdict { return &done[0].(Send).Message.Body.(wire.Endorsed).Verdicts[0] }
	told := verdict(s.step(Checked{Of: question(s, asked, "a").request()}))
	if told.Why != wire.Failed || told.Text == "" {
		t.Errorf("without an outcome: %+v, want it failed", told)
	}
	told.Signature = []byte("the loop's")
	if again := verdict(s.step(question(s, asked, "a"))); again.Signature != nil {
		t.Errorf("the loop signs what the machine keeps: %+v", again)
	}
	if done := s.step(Checked{Of: question(s, asked, "a").request(), Outcomes: make([]Outcome, 9)}); len(done) > 0 {
		t.Errorf("a second outcome is answered: %v", done)
	}
}

// On a chain that is younger than its depth no block is final.
func TestAYoungChain(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(*Config) {})
	s.attempt("a", "a", nil, nil)
	s.step(ledger.Block{Number: 1})
	if in := ask("alice", 1, time.Second, wire.Endorse{Range: 0, Attempts: []wire.Whole{s.made["a"]}}); s.classify(in) != asked {
		t.Errorf("range 0 is %s", s.classify(in))
	}
}

// P2: a node that restarts remembers how high it was, though it reads lower blocks again.
func TestTheHeightAtTheStart(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(c *Config) { c.Final = 47 })
	s.attempt("a", "a", nil, nil)
	s.step(ledger.Block{Number: 20})
	if in := ask("alice", 1, time.Second, wire.Endorse{Range: 1, Attempts: []wire.Whole{s.made["a"]}}); s.classify(in) != askedTooOld {
		t.Errorf("range 1 is %s", s.classify(in))
	}
}

// The rules' word decides: nil endorses, ErrNever refuses, all else has failed, a panic too.
func TestJudge(t *testing.T) {
	t.Parallel()
	var all []domain.Proposal
	for _, payload := range []string{"panic", "good", "bad", "odd"} {
		all = append(all, domain.Proposal{Payload: []byte(payload)})
	}
	var got []string
	for _, o := range Judge(moods{}, all) {
		got = append(got, o.Why.String())
	}
	if fmt.Sprint(got) != "[failed done refused failed]" {
		t.Errorf("got %v", got)
	}
}

func TestFaultsOfAConfig(t *testing.T) {
	t.Parallel()
	err := Config{Contract: ledger.Contract{Committee: []ledger.Account{"alice"}}, Most: -1}.Validate()
	for _, want := range []string{"its members are nobody", "not in the one that is ranked", "contract's book", "are positive"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}
