package courier

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/txlog"
)

var update = flag.Bool("update", false, "rewrite the actions in the stories")

// In a story in testdata a line is an input, and the indented lines after it are the actions that it causes. The node is n;
// a, b and c are members.
func TestStories(t *testing.T) {
	t.Parallel()
	storytest.Run(t, *update, func(t *testing.T) func(string) []string {
		s := newStory(t)
		return func(line string) []string { return s.tell(strings.Fields(line)) }
	})
}

type story struct {
	t       testing.TB
	now     time.Duration
	cfg     Config
	m       *Machine
	ticket  uint64
	tickets map[uint64]string
	ended   map[uint64]bool
	tries   map[string]uint64 // the last one to a node, of a goal
	known   map[string]txlog.Result
}

func newStory(t testing.TB) *story {
	return &story{t: t, now: 5 * time.Hour, tickets: map[uint64]string{}, ended: map[uint64]bool{}, tries: map[string]uint64{}, known: map[string]txlog.Result{}}
}

func (s *story) machine() *Machine {
	if s.m == nil {
		s.cfg.Self = "n"
		s.cfg.Known = func(id string, goal []byte, since uint64) (txlog.Result, bool, error) {
			switch of, is := s.known[id]; {
			case since > 90:
				return txlog.Result{}, false, txlog.ErrMalformed
			case !is:
				return txlog.Result{}, false, nil
			case of.Fault == "old":
				return txlog.Result{}, false, txlog.ErrOld
			case string(of.Result) != string(goal):
				return txlog.Result{}, false, txlog.ErrGoalID
			default:
				return of, true, nil
			}
		}
		if err := s.cfg.Validate(); err != nil {
			s.t.Fatal(err)
		}
		s.m = New(s.cfg)
	}
	return s.m
}

func (s *story) step(in Input) (done []string) {
	for _, a := range s.machine().Step(s.now, in) {
		done = append(done, s.say(a))
	}
	return done
}

func (s *story) number(word string) uint64 {
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *story) tell(words []string) (done []string) {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch words[0] {
	case "with":
		for _, word := range words[1:] {
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case storytest.Break:
			case "waiting":
				s.cfg.MostWaiting, _ = strconv.Atoi(value)
			case "expiry": // in seconds
				s.cfg.expiry = time.Duration(s.number(value)) * time.Second
			}
		}
		return nil
	case "wait": // so many milliseconds, in ticks of 100
		for end := s.now + time.Duration(s.number(words[1]))*time.Millisecond; s.now < end; {
			s.now += 100 * time.Millisecond
			done = append(done, s.step(Tick{})...)
		}
		return done
	case "goal": // goal NAME ID [since=N] TEXT
		s.ticket++
		s.tickets[s.ticket] = words[1]
		in := Carry{Ticket: s.ticket, Goal: txlog.Goal{ID: words[2]}}
		words = words[3:]
		for ; len(words) > 0; words = words[1:] {
			n, is := strings.CutPrefix(words[0], "since=")
			if !is {
				break
			}
			in.Since = s.number(n)
		}
		in.Body = []byte(strings.Join(words, " "))
		return s.step(in)
	case "gone":
		for ticket, name := range s.tickets {
			if name == words[1] && !s.ended[ticket] {
				s.ended[ticket] = true
				done = append(done, s.step(Gone{Ticket: ticket})...)
			}
		}
		return done
	case "members":
		return s.step(Members{Names: words[1:]})
	case "leader": // leader TERM [NAME]
		return s.step(Leader{Term: s.number(words[1]), Name: arg(2)})
	case "lost": // lost NAME
		return s.step(Failed{To: words[1]})
	case "applied": // applied INDEX ID TEXT
		return s.applied(words)
	case "copy": // the own copy knows: copy ID INDEX TEXT
		s.known[words[1]] = txlog.Result{Index: s.number(words[2]), Result: []byte(strings.Join(words[3:], " ")), Fault: map[bool]string{true: "old"}[arg(3) == "old"]}
		return nil
	case "status":
		st := s.machine().Status()
		return []string{fmt.Sprintf("leader %s, term %d; %d goals for %d users", somebody(st.Leader), st.Term, st.Pending, st.Tickets)}
	}
	return s.says(words)
}

// says reads "a says ID done 7 text", "a says ID leader b 5", "a says ID old" and so on.
func (s *story) says(words []string) []string {
	in := LeaderSaid{From: words[0], Try: s.tries[words[2]+" to "+words[0]]}
	switch words[3] {
	case "done":
		in.Answer = txlog.Answer{Index: s.number(words[4]), Result: []byte(strings.Join(words[5:], " "))}
	case "leader":
		in.Err = txlog.NotLeaderError{Leader: words[4], Term: s.number(words[5])}
	case "nobody":
		in.Err = txlog.NotLeaderError{Term: s.number(words[4])}
	default:
		errs := map[string]error{"old": txlog.ErrOld, "other": txlog.ErrGoalID, "many": txlog.ErrTooMany, "barred": txlog.ErrBarred, "unknown": txlog.ErrUnknown, "nonsense": errors.New("nonsense")}
		if in.Err = errs[words[3]]; in.Err == nil {
			s.t.Fatalf("no such answer: %v", words)
		}
	}
	return s.step(in)
}

func (s *story) applied(words []string) []string {
	e := txlog.Entry{Kind: txlog.Executed, Index: s.number(words[1]), Term: 1, Leader: "a", GoalID: words[2], Goal: []byte(strings.Join(words[3:], " ")), Result: []byte("applied")}
	if words[2] == "-" {
		e = txlog.Entry{Kind: txlog.Opening, Index: e.Index, Term: 1, Leader: "a"}
	}
	r, err := txlog.Seal(e)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.step(Applied{Record: r})
}

func (s *story) say(a Action) string {
	switch a := a.(type) {
	case Send:
		s.tries[a.ID+" to "+a.To] = a.Try
		return fmt.Sprintf("sends %s to %s: %s (since %d)", a.ID, a.To, a.Body, a.Since)
	case Ask:
		return fmt.Sprintf("asks three neighbours for news, for %d goals", a.Goals)
	case Deliver:
		if s.ended[a.Ticket] {
			s.t.Errorf("%s is answered twice", s.tickets[a.Ticket])
		}
		s.ended[a.Ticket] = true
		if a.Err != nil {
			return fmt.Sprintf("to %s: %v", s.tickets[a.Ticket], a.Err)
		}
		text := fmt.Sprintf("to %s: entry %d, %s", s.tickets[a.Ticket], a.Index, a.Result)
		if a.Fault != "" {
			text += ", failed: " + a.Fault
		}
		return text
	case Changed:
		return fmt.Sprintf("%s: the leader was %s and is %s", a.GoalID, somebody(a.From), somebody(a.To))
	case TimedOut:
		return fmt.Sprintf("%s has timed out; %s was asked", a.GoalID, somebody(a.To))
	}
	return fmt.Sprintf("%T", a)
}
