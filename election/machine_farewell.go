package election

import (
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/fence"
)

func (m *Machine) partDue() fence.Instant {
	due := never
	for _, s := range m.seats {
		if s.farewell != nil && m.link.up {
			due = min(due, s.sayAt)
		}
	}
	return due
}

// part says the farewells that are due, a batch at a time.
func (m *Machine) part(now fence.Instant) {
	var farewells []Farewell
	var asked []*seat
	room := m.set.Batch
	for i := range m.seats { // from where the last batch ended: what fails slowly is not first each time
		s := m.seats[(m.sayNext+i)%len(m.seats)]
		company := min(room, or(s.company, room))
		if s.farewell == nil || now < s.sayAt || len(asked) >= company {
			continue
		}
		room, s.saying = company, s.farewell
		farewells = append(farewells, *s.farewell)
		asked = append(asked, s)
	}
	m.sayNext = asked[len(asked)-1].place + 1
	m.ask(parting, asked, Release{Farewells: farewells})
}

// parted: each farewell was said, or came too late, or its row is locked by somebody, which
// concerns that scope alone.
func (m *Machine) parted(now fence.Instant, in Parted) {
	m.asking = nothing
	m.leaveAt = now.Add(m.set.Linger)
	m.muted, m.deaf = 0, 0
	for i, s := range m.asked {
		answer := Parting{Outcome: Said}
		if i < len(in.Answers) {
			answer = in.Answers[i]
		}
		said := s.saying
		s.saying = nil
		switch {
		case said == nil || s.farewell != said:
			// The acts ended meanwhile: the promise that they have is still to be said.
		case answer.Outcome == Locked:
			m.again(s, now, fmt.Errorf("%w: its row is locked by %s", ErrUntold, answer.By))
		default:
			m.said(s, now, answer.Outcome == Over)
		}
	}
}

// said: there is nothing left to say of a term.
func (m *Machine) said(s *seat, now fence.Instant, over bool) {
	f, unheard, tried, unsaid := s.farewell, s.unheard, s.sayings > 0, s.unsaid
	s.untold = untold{}
	switch {
	case over && s.asked && unheard:
		s.asked = false
		m.report(Fact{Kind: Lost, Scope: s.Scope, Token: f.Token, Err: ErrUntold})
	case over && s.asked:
		m.deposed(s)
	}
	if s.state != waiting {
		return
	}
	if s.asked || unsaid && !over {
		s.asked = false
		m.report(Fact{Kind: Released, Scope: s.Scope, Token: f.Token, Handoff: f.Released})
	}
	if tried { // the rest has begun with the first try
		s.try(max(now, s.restTill))
		return
	}
	m.rest(s, now)
}

// rest lets others bid first for a scope that was just given up.
func (m *Machine) rest(s *seat, now fence.Instant) {
	s.try(now)
	if s.resting {
		s.try(now.Add(m.jitter(m.set.YieldAfterStep)))
		s.resting, s.restTill = false, s.tryAt
	}
}

// again: a farewell was not heard. It is said again and again, and after a while does not
// keep this process from bidding. It goes first all the same: one that is said spares the next
// term its hold.
func (m *Machine) again(s *seat, now fence.Instant, why error) {
	if s.sayings == 0 {
		s.sayFrom = now
		if s.state == waiting {
			// By then a session that leads nothing else was let go, and others could bid.
			m.rest(s, now)
			s.try(now.Add(m.set.YieldAfterStep * 3 / 2))
		}
	}
	s.sayings++
	// At first in quick succession, since a fence above READ COMMITTED locks a row for an instant.
	s.sayAt = now.Add(min(time.Millisecond<<min(s.sayings, maxDoublings), m.set.BackoffMin))
	if !s.unsaid && now.Sub(s.sayFrom) >= m.set.Heartbeat {
		s.unsaid, s.asked = true, false
		m.report(Fact{Kind: Unsaid, Scope: s.Scope, Token: s.farewell.Token, Err: why})
	}
	if s.state == waiting {
		m.unled(s, now, why)
	}
}

// partFailed: nobody knows which of the farewells it was about, or whether they were heard.
// Each half is said by itself at once, until the one that it is about fails alone; that is
// then said bare, for it may be what somebody said that the mint cannot take.
func (m *Machine) partFailed(now fence.Instant, why error) {
	m.deaf++
	m.deafAt = now
	m.muted = or(m.muted, now)
	n := len(m.asked)
	for _, s := range m.asked {
		said := s.saying
		s.saying = nil
		if said == nil || s.farewell != said {
			continue
		}
		s.unheard = true
		m.again(s, now, fmt.Errorf("%w: %w", ErrUntold, why))
		switch {
		case n > 1:
			s.company = n / 2
		case !said.Bare:
			said.Bare, s.company = true, 1
		default:
			continue // there is no better way to say it: after a pause
		}
		if m.deaf <= splits {
			s.sayAt = now
		}
	}
}

// giveUpSaying: a machine that stops tries until its time is up. The end of the session
// says the rest.
func (m *Machine) giveUpSaying(now fence.Instant, s *seat) {
	if m.stop && now >= m.stopBy && s.sayings > 0 && m.asking != parting {
		s.untold = untold{}
	}
}

// ended: the role has returned, no act is under way, and the answers that others were
// given have ended.
func (m *Machine) ended(now fence.Instant, scope string) {
	s := m.seat(scope)
	if s == nil || s.state != closing {
		return
	}
	// If it was given up without the promise, making it now is still true, and
	// lets the next one act at once unless somebody was minted since.
	f := s.parting
	f.Released = s.alone(now) && !errors.Is(s.why, ErrDeposed)
	s.state, s.ledAt, s.ending = waiting, now, ending{}
	s.farewell, s.sayings = &f, 0
	s.try(now)
}
