package election

import (
	"time"

	"github.com/conchhq/conch/fence"
)

// What the mint said of bids.

func (m *Machine) tried(now fence.Instant, in Tried) {
	m.asking = nothing
	m.draws = draws{}
	if n := len(in.Results); n < len(m.asked) {
		m.from = m.asked[n].place
	}
	before := m.renews()
	for i, r := range in.Results {
		s := m.asked[i]
		if r.Outcome == Full {
			m.full(s, now, r.Why)
			continue
		}
		s.failures, s.crowd, m.fulls, m.failing = 0, 0, 0, 0
		m.blockers(s, &r)
		if r.Outcome != Busy {
			s.busySince, s.stuck = 0, false
		}
		switch r.Outcome {
		case Won:
			m.open(s, now, in.Sent, r)
			switch {
			case m.stop:
				m.drain(s, ErrStepDown, Farewell{Token: s.token, Reason: "stopping"}, m.stopBy)
			case s.retired: // while the bid was under way
				m.drain(s, ErrStepDown, Farewell{Token: s.token, Reason: "no longer campaigned for"}, now.Add(m.set.DrainTimeout))
			}
		case Held:
			m.follow(s, now, r)
		case Busy:
			m.busy(s, now, r)
		case Locked:
			m.follow(s, now, r)
		case Yield:
			s.process = 0
			m.rebid(s, now)
			m.unled(s, now, errHands)
		case Refused:
			s.process = 0
			m.heard(s, now, r)
			s.try(now.Add(drawn(&m.draws.refused, func() time.Duration { return m.jitter(m.set.RetryMax) })))
			m.report(Fact{Kind: Barred, Scope: s.Scope, Err: r.Why})
		case Full, Said, Over, Renewed:
		}
	}
	if !before && m.renews() { // the mint is as good as a heartbeat
		m.beatAt = in.Sent.Add(m.jitter(m.set.Heartbeat))
	}
	m.watch()
}

// full: no bid has a chance until the mint has room again. One line says so, not
// one for each scope.
func (m *Machine) full(s *seat, now fence.Instant, why error) {
	m.fulls++
	m.fullTil = now.Add(m.backoff(m.fulls))
	m.report(Fact{Kind: Retrying, Scope: s.Scope, Err: why, After: m.fullTil.Sub(now)})
	m.unled(s, now, why)
}

// busy: acts of the last term hold the fence. They are the last, for that term is given up by now.
func (m *Machine) busy(s *seat, now fence.Instant, r Result) {
	s.process = 0
	if s.busySince == 0 {
		s.busySince = now
		m.report(Fact{Kind: Blocked, Scope: s.Scope})
	}
	s.try(now)
	m.unled(s, now, or(r.Why, errActs))
}

// blockers reports what was ended to get a fence and, once, what could not be.
func (m *Machine) blockers(s *seat, r *Result) {
	var ended, stuck []Blocker
	for _, b := range r.Blockers {
		if b.Ended {
			ended = append(ended, b)
		} else {
			stuck = append(stuck, b)
		}
	}
	if len(ended) > 0 {
		m.report(Fact{Kind: Evicted, Scope: s.Scope, Blockers: ended})
	}
	if len(stuck) > 0 && !s.stuck {
		s.stuck = true
		m.report(Fact{Kind: Blocked, Scope: s.Scope, Blockers: stuck})
	}
}

// heard: an answer says whether somebody leads.
func (m *Machine) heard(s *seat, now fence.Instant, r Result) {
	if r.Process == 0 {
		m.unled(s, now, r.Why)
		return
	}
	m.led(s, now)
	if s.farewell != nil && r.Term != s.farewell.Token.Term { // of a term before that one
		m.said(s, now, true)
	}
}

func (m *Machine) follow(s *seat, now fence.Instant, r Result) {
	m.heard(s, now, r)
	process := r.Process
	if process == s.gone {
		process = 0 // its end was seen: there is nothing to wait for
	}
	known := r.Holder == s.holder && process == s.process
	if s.before != 0 && process != 0 && process != s.before {
		s.nudges = min(s.nudges, 1) // somebody else was quicker; one look more, should it have changed hands twice
	}
	s.holder, s.process, s.restTill = r.Holder, process, 0
	if !known && r.Holder != "" {
		m.report(Fact{Kind: Following, Scope: s.Scope, Holder: r.Holder})
	}
	stale := m.set.StaleAfter > 0 && r.Age > m.set.StaleAfter
	if stale && !s.stale {
		m.report(Fact{Kind: Stale, Scope: s.Scope, Holder: r.Holder, Took: r.Age})
	}
	s.stale = stale
	m.nextTry(s, now)
}
