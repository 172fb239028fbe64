package courier

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog"
)

// Whatever is told in whatever order: a ticket is answered once, at its expiry at the latest; nobody is told an answer of another
// goal, or that a goal was not taken which a second member may have taken; and what is remembered is bounded (B8, B9, B12).
func TestAnythingIsTold(t *testing.T) {
	t.Parallel()
	seeds := runtest.ByDay(uint64(300), 30_000)
	for seed := range seeds {
		if err := told(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

type asked struct {
	id, body string
	expires  time.Duration
	answered bool
}

type world struct {
	chance  *rand.Rand
	now     time.Duration
	expiry  time.Duration
	m       *Machine
	tickets map[uint64]*asked
	sends   []Send
	log     map[string]string
	fault   error
}

func told(seed uint64) error {
	w := &world{chance: rand.New(rand.NewPCG(seed, 8)), tickets: map[uint64]*asked{}, log: map[string]string{}}
	w.expiry = time.Duration(1+w.chance.IntN(60)) * time.Second
	w.m = New(Config{Self: "n", MostWaiting: 6, expiry: w.expiry})
	for range 400 {
		w.now += time.Duration(w.chance.IntN(700)) * time.Millisecond
		w.step(w.input())
		w.step(Tick{})
		if w.check(); w.fault != nil {
			return w.fault
		}
	}
	w.now += time.Hour
	w.step(Tick{})
	w.check()
	if s := w.m.Status(); s.Pending > 0 || s.Tickets > 0 {
		w.fail("after an hour it has %+v", s)
	}
	return w.fault
}

func (w *world) fail(format string, args ...any) {
	if w.fault == nil {
		w.fault = fmt.Errorf(format, args...)
	}
}

func (w *world) name() string { return string(rune('a' + w.chance.IntN(3))) }

// input makes something that may be told. A member answers of a goal what the log says, if it answers at all.
func (w *world) input() Input {
	switch w.chance.IntN(10) {
	case 0, 1, 2:
		ticket := uint64(len(w.tickets) + 1)
		of := &asked{id: fmt.Sprint("g", w.chance.IntN(12)), body: fmt.Sprint("body ", w.chance.IntN(8)/7), expires: w.now + w.expiry}
		w.tickets[ticket] = of
		return Carry{Ticket: ticket, Goal: txlog.Goal{ID: of.id, Body: []byte(of.body)}}
	case 3:
		return Leader{Name: []string{"", w.name()}[w.chance.IntN(2)], Term: w.chance.Uint64N(6)}
	case 4:
		return Members{Names: []string{"a", "b", "c"}[:w.chance.IntN(4)]}
	case 5:
		for ticket := range uint64(len(w.tickets)) {
			if of := w.tickets[ticket+1]; !of.answered && w.chance.IntN(3) == 0 {
				of.answered = true
				return Gone{Ticket: ticket + 1}
			}
		}
	}
	if len(w.sends) == 0 {
		return Tick{}
	}
	s := w.sends[w.chance.IntN(len(w.sends))]
	switch w.chance.IntN(8) {
	case 0:
		return Failed{To: s.To}
	case 1:
		return LeaderSaid{Try: s.Try, From: s.To, Err: txlog.NotLeaderError{Leader: []string{"", w.name()}[w.chance.IntN(2)], Term: w.chance.Uint64N(6)}}
	case 2:
		return LeaderSaid{Try: s.Try, From: s.To, Err: []error{txlog.ErrTooMany, txlog.ErrBarred, txlog.ErrUnknown, errors.New("nonsense")}[w.chance.IntN(4)]}
	case 3:
		return LeaderSaid{Try: s.Try, From: w.name() + "x", Answer: txlog.Answer{Index: 1, Result: []byte("forged")}}
	}
	body, is := w.log[s.ID]
	if !is {
		body = string(s.Body)
		w.log[s.ID] = body
	}
	if body != string(s.Body) {
		return LeaderSaid{Try: s.Try, From: s.To, Err: txlog.ErrGoalID}
	}
	return LeaderSaid{Try: s.Try, From: s.To, Answer: txlog.Answer{Index: 7, Result: []byte(s.ID + body)}}
}

func (w *world) step(in Input) {
	for _, a := range w.m.Step(w.now, in) {
		switch a := a.(type) {
		case Send:
			w.sends = append(w.sends, a)
		case Deliver:
			w.answer(a)
		case Ask, Changed, TimedOut:
		}
	}
}

func (w *world) answer(a Deliver) {
	of := w.tickets[a.Ticket]
	switch {
	case of == nil || of.answered:
		w.fail("ticket %d is answered, and nobody waits", a.Ticket)
		return
	case a.Err == nil && (a.Fault != "" || string(a.Result) != of.id+of.body):
		w.fail("goal %s, %s, is answered %+v", of.id, of.body, a)
	case errors.Is(a.Err, txlog.ErrGoalID) && w.log[of.id] == of.body && w.m.goals[of.id] == nil:
		w.fail("goal %s, %s, is refused, and the log has it", of.id, of.body)
	}
	of.answered = true
}

func (w *world) check() {
	for ticket, of := range w.tickets {
		if !of.answered && w.now >= of.expires {
			w.fail("ticket %d has expired, and has no answer", ticket)
		}
	}
	if s := w.m.Status(); s.Tickets > 6 || s.Pending > s.Tickets || len(w.m.tries.by) > 24 || len(w.m.late.by) > 6 || len(w.m.late.order) > 6 {
		w.fail("it has %+v, %d tries and %d answers", s, len(w.m.tries.by), len(w.m.late.by))
	}
}

// A goal is tried for a minute.
func TestAGoalIsTriedForAMinute(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: "n"})
	m.Step(0, Carry{Ticket: 1, Goal: txlog.Goal{ID: "g1"}})
	if left := m.Step(time.Minute-1, Tick{}); len(left) > 2 || m.Status().Tickets != 1 {
		t.Errorf("before the limit: %v", left)
	}
	m.Step(time.Minute, Tick{})
	if m.Status().Tickets != 0 {
		t.Error("a goal is tried for longer")
	}
}

// Two goals whose ids and bodies make the same bytes, one after the other, are two: no answer of the one is told of the other.
func TestTheAnswerOfAnotherGoal(t *testing.T) {
	t.Parallel()
	m := New(Config{Self: "n"})
	m.Step(0, Leader{Name: "a", Term: 1})
	for _, a := range m.Step(0, Carry{Ticket: 1, Goal: txlog.Goal{ID: "id", Body: []byte("x\x00y")}}) {
		if s, is := a.(Send); is {
			m.Step(0, Gone{Ticket: 1})
			m.Step(0, LeaderSaid{Try: s.Try, From: "a", Answer: txlog.Answer{Index: 7}})
		}
	}
	if len(m.late.by) != 1 {
		t.Fatal("the answer is not kept for those that ask again (V2)")
	}
	for _, a := range m.Step(0, Carry{Ticket: 2, Goal: txlog.Goal{ID: "id\x00x", Body: []byte("y")}}) {
		if a, is := a.(Deliver); is {
			t.Errorf("a goal that was never sent is answered: %+v", a)
		}
	}
}

// Every fault of a configuration is listed.
func TestFaults(t *testing.T) {
	t.Parallel()
	if err := (Config{Self: "n"}).Validate(); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]Config{
		"no name": {}, "a timeout below 0": {Self: "n", Timeout: -1}, "a limit below 0": {Self: "n", MostWaiting: -1},
	} {
		if c.Validate() == nil {
			t.Errorf("%s is no fault", name)
		}
	}
}
