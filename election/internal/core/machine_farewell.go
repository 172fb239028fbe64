package core

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// A farewell on its way: the role ends, and makeFarewell makes the farewell; sayFarewells says it;
// takeParted takes the answers, farewellsFailed an error; endFarewell or sayFarewellAgain ends or repeats it. Its state is in untold.

// sayFarewellsDue returns when the first farewell is due.
func (m *Machine) sayFarewellsDue() fence.Instant {
	due := never
	for _, s := range m.seats {
		if s.farewell != nil {
			due = min(due, s.sayAt)
		}
	}
	return due
}

// sayFarewells says the farewells that are due, at least one, in a batch that is as small as the most
// restricted farewell in it allows. It goes round, so that one that fails slowly is not always first.
func (m *Machine) sayFarewells(now fence.Instant) {
	var farewells []mint.Farewell
	var asked []*seat
	room := m.set.Batch
	for i := range m.seats {
		s := m.seats[(m.nextSay+i)%len(m.seats)]
		most := min(room, cmp.Or(s.sayBatch, room))
		if s.farewell == nil || now < s.sayAt || len(asked) >= most {
			continue
		}
		room = most
		s.saying = s.farewell
		farewells = append(farewells, *s.farewell)
		asked = append(asked, s)
	}
	m.nextSay = asked[len(asked)-1].place + 1
	m.askMint(parting, asked, Release{Farewells: farewells})
}

// takeParted takes the answers to farewells; a missing answer means Said, see Parted. If a row is
// locked, only its farewell is tried again.
func (m *Machine) takeParted(now fence.Instant, in Parted) {
	m.asking = nothing
	m.leaveAt = now.Add(m.set.Linger)
	m.releaseFailingFrom, m.releaseFailures = 0, 0
	for i, s := range m.asked {
		answer := mint.Parting{Outcome: mint.Said}
		if i < len(in.Answers) {
			answer = in.Answers[i]
		}
		said := s.saying
		s.saying = nil
		switch {
		case said == nil || s.farewell != said:
			// The acts have ended meanwhile: the farewell with that promise is still to be said.
		case answer.Outcome == mint.Locked:
			m.sayFarewellAgain(s, now, fmt.Errorf("%w: its row is locked by %s", ErrUntold, answer.By))
		default:
			m.endFarewell(s, now, answer.Outcome == mint.Over)
		}
	}
}

// endFarewell ends the tries of a farewell that is recorded, or whose term is over: another one is the
// latest. If an earlier try may have been recorded before that (unheard), it is unknown whether it
// was believed.
func (m *Machine) endFarewell(s *seat, now fence.Instant, over bool) {
	f, unheard, tried, unsaid := s.farewell, s.unheard, s.sayFailures > 0, s.unsaid
	s.untold = untold{}
	switch {
	case over && s.owesAnswer && unheard:
		s.owesAnswer = false
		m.addReport(Fact{Kind: Lost, Scope: s.Scope, Token: f.Token, Err: ErrUntold})
	case over && s.owesAnswer:
		m.noteDeposed(s)
	}
	if s.state != waiting {
		return
	}
	if !over && unsaid || s.owesAnswer {
		s.owesAnswer = false
		m.addReport(Fact{Kind: Released, Scope: s.Scope, Token: f.Token, Handoff: f.Released})
	}
	if tried { // sayFarewellAgain began to yield when the first try failed
		s.tryAt = max(now, s.yieldUntil)
		return
	}
	m.yieldSeat(s, now)
}

// yieldSeat lets others bid first, if they should, for a scope that was just given up.
func (m *Machine) yieldSeat(s *seat, now fence.Instant) {
	s.tryAt = now
	if s.yielding {
		s.yielding = false
		m.pace.yieldTurn(&s.turn, now)
	}
}

// sayFarewellAgain schedules another try of a farewell. From the first failure on the farewell no longer keeps
// this process from bidding, after a pause or at a wake. A due farewell still goes before the bids,
// since it spares the next term its hold.
func (m *Machine) sayFarewellAgain(s *seat, now fence.Instant, why error) {
	if s.sayFailures == 0 {
		s.sayFrom = now
		if s.state == waiting {
			// After errors, takeFailed has ended a session without other terms by then.
			m.yieldSeat(s, now) // for yieldUntil only
			s.tryAt = now.Add(m.set.YieldAfterStep * 3 / 2)
		}
	}
	s.sayFailures++
	// The first tries are quick: a fence above READ COMMITTED locks the row only for an instant.
	s.sayAt = now.Add(min(time.Millisecond<<min(s.sayFailures, maxDoublings), m.set.BackoffMin))
	if !s.unsaid && now.Sub(s.sayFrom) >= m.set.Heartbeat {
		s.unsaid, s.owesAnswer = true, false // Unsaid is the answer of a drain too
		m.addReport(Fact{Kind: Unsaid, Scope: s.Scope, Token: s.farewell.Token, Err: why})
	}
	if s.state == waiting {
		m.noteUnled(s, now, why)
	}
}

// farewellsFailed says all farewells of a failed batch again, in batches of at most half its size, since
// the error names none. The first tries have no pause. A farewell that fails alone is said bare,
// without its texts, since the mint may be unable to store one of them.
func (m *Machine) farewellsFailed(now fence.Instant, why error) {
	if !slices.ContainsFunc(m.seats, func(s *seat) bool { return s.unheard }) { // those that failed before were dropped
		m.releaseFailures, m.releaseFailingFrom = 0, 0
	}
	m.releaseFailures++
	m.releaseFailedAt = now
	m.releaseFailingFrom = cmp.Or(m.releaseFailingFrom, now)
	n := len(m.asked)
	for _, s := range m.asked {
		said := s.saying
		s.saying = nil
		if said == nil || s.farewell != said {
			continue
		}
		s.unheard = true
		m.sayFarewellAgain(s, now, fmt.Errorf("%w: %w", ErrUntold, why))
		switch {
		case n > 1:
			s.sayBatch = n / 2
		case !said.Bare:
			said.Bare, s.sayBatch = true, 1
		default:
			continue // it was bare: try again after the pause
		}
		if m.releaseFailures <= splits {
			s.sayAt = now
		}
	}
}

// dropFarewellsDue returns when a stopping machine drops the farewells that have failed. The end of the
// session frees their scopes, and the successors wait their holds.
func (m *Machine) dropFarewellsDue() fence.Instant {
	if !m.stop || m.asking == parting || !slices.ContainsFunc(m.seats, func(s *seat) bool { return s.sayFailures > 0 }) {
		return never
	}
	return m.stopBy
}

func (m *Machine) dropFarewells() {
	for _, s := range m.seats {
		if s.sayFailures > 0 {
			s.untold = untold{}
		}
	}
}

// makeFarewell makes the farewell due. The role, its acts and all answers to outside callers have ended.
func (m *Machine) makeFarewell(now fence.Instant, scope string) {
	s := m.seatOf(scope)
	if s == nil || s.state != closing {
		return
	}
	// An abandoned term was given up without Released. Its acts have ended now, so Released may
	// be said; a mint that has a successor ignores it.
	f := s.plannedFarewell
	f.Released = s.actsAlone(now) && !errors.Is(s.why, ErrDeposed)
	s.state, s.ledAt, s.ending = waiting, now, ending{}
	s.farewell, s.sayFailures = &f, 0 // unheard, sayBatch and unsaid tell of tries for this term
	s.tryAt = now
}
