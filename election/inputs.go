package election

import (
	"errors"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
)

func (m *Machine) opened(now fence.Instant) {
	m.asking = nothing
	m.link = link{up: true}
	m.heardAt, m.beatAt, m.muted = now, now, 0
	for _, s := range m.seats {
		s.try(now.Add(time.Duration(s.Rank) * m.set.RankDelay))
		if s.state == waiting && s.farewell == nil && s.resting {
			m.rest(s, now)
		}
	}
}

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
		if len(r.Evicted) > 0 {
			m.report(Fact{Kind: Evicted, Scope: s.Scope, Blockers: r.Evicted})
		}
		if r.Outcome != Busy {
			s.busySince = 0
		}
		switch r.Outcome {
		case Won:
			m.open(s, now, in.Sent, r)
			if m.stop {
				m.drain(s, ErrStepDown, Farewell{Token: s.token, Reason: "stopping"}, m.stopBy)
			}
		case Held:
			m.follow(s, now, r)
		case Busy:
			s.process = 0
			if s.busySince == 0 {
				s.busySince = now
				m.report(Fact{Kind: Blocked, Scope: s.Scope})
			}
			s.try(now)
		case Yield:
			s.process = 0
			m.rebid(s, now)
		case Refused:
			s.process = 0
			s.try(now.Add(drawn(&m.draws.refused, func() time.Duration { return m.jitter(m.set.RetryMax) })))
			m.report(Fact{Kind: Barred, Scope: s.Scope, Err: r.Why})
		case Full:
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
}

func (m *Machine) follow(s *seat, now fence.Instant, r Result) {
	process := r.Process
	if process == s.gone {
		process = 0 // its end was seen: there is nothing to wait for
	}
	known := r.Holder == s.holder && process == s.process
	if s.before != 0 && process != 0 && process != s.before {
		s.nudges = min(s.nudges, 1) // somebody else was quicker; one look more, should it have changed hands twice
	}
	s.holder, s.process, s.restTill = r.Holder, process, 0
	if !known {
		m.report(Fact{Kind: Following, Scope: s.Scope, Holder: r.Holder})
	}
	stale := m.set.StaleAfter > 0 && r.Age > m.set.StaleAfter
	if stale && !s.stale {
		m.report(Fact{Kind: Stale, Scope: s.Scope, Holder: r.Holder, Took: r.Age})
	}
	s.stale = stale
	m.nextTry(s, now)
}

// watch keeps the set of awaited processes in step with who holds what.
func (m *Machine) watch() {
	var want []int64
	for _, s := range m.seats {
		if s.state == waiting && s.process != 0 && !s.Never && !slices.Contains(want, s.process) {
			want = append(want, s.process)
		}
	}
	same := len(want) == len(m.watched)
	for _, p := range want {
		same = same && slices.Contains(m.watched, p)
	}
	if !same {
		m.watched = want
		m.do(Watch{Processes: want})
	}
}

func (m *Machine) beaten(now fence.Instant, in Beaten) {
	m.asking = nothing
	for i, alive := range in.Alive {
		s := m.asked[i]
		if s.state != leading { // shut before, or while the heartbeat was under way
			m.drained(s, in.Sent, alive)
			continue
		}
		if !alive {
			m.report(Fact{Kind: Lost, Scope: s.Scope, Token: s.token, Err: ErrDeposed})
			m.shut(s, ErrDeposed, Farewell{Token: s.token, Reason: "deposed"})
			continue
		}
		s.settled = s.settled || s.settling
		s.deadline = max(s.deadline, in.Sent.Add(s.window()))
		m.do(Extend{Scope: s.Scope, Deadline: s.deadline})
		if s.late && now < s.deadline {
			s.late = false
			m.report(Fact{Kind: Resumed, Scope: s.Scope, Token: s.token})
		}
		m.overdue(now, s)
	}
}

// drained: a heartbeat of a term that is given up was answered. It moves no gate,
// only the time by which whoever is ending must have ended.
func (m *Machine) drained(s *seat, sent fence.Instant, alive bool) {
	if !alive {
		m.deposed(s)
		return
	}
	s.settled = s.settled || s.settling
	if until := sent.Add(s.window()); s.draining && until > s.deadline {
		s.deadline = until
		m.do(Prolong{Scope: s.Scope, Deadline: until})
	}
}

// deposed: a term that was being given up has ended before; nothing can be promised
// about it any more, and whoever asked is told so.
func (m *Machine) deposed(s *seat) {
	s.why, s.draining = ErrDeposed, false
	if s.farewell != nil {
		s.farewell.Released = false
	}
	if s.asked {
		s.asked = false
		m.report(Fact{Kind: Lost, Scope: s.Scope, Token: s.token, Err: ErrDeposed})
	}
}

// woken: something may be free. A scope that somebody has just taken is only
// looked at, to learn whose end to wait for; a free one is tried in quick
// succession.
func (m *Machine) woken(now fence.Instant, in Woken) {
	all := in.Scope == "" && in.Process == 0
	seats := m.seats
	if s := m.seat(in.Scope); s != nil {
		seats = []*seat{s}
	}
	for _, s := range seats {
		gone := in.Process != 0 && s.process == in.Process
		if s.state != waiting || s.busySince != 0 || !all && !gone && s.Scope != in.Scope {
			continue
		}
		if in.Holder == "" && !all {
			s.nudges, s.before = quickTries, s.process
			if !gone {
				s.nudges = laterTries
			}
		}
		if gone {
			s.gone, s.process = in.Process, 0
		}
		at := now.Add(time.Duration(s.Rank) * m.set.RankDelay)
		switch {
		case in.Holder == "":
			at = max(at, s.restTill) // the news may be of our own farewell
		case !all:
			at = at.Add(leftAlone) // only to learn whose end to wait for
		}
		switch {
		case s.resting:
		case s.polled:
			s.try(at)
		default:
			s.try(min(s.tryAt, at))
		}
	}
	if in.Process != 0 {
		m.watch()
	}
}

func (m *Machine) stepDown(now fence.Instant, in StepDown) {
	s := m.seat(in.Scope)
	if !m.leads(in.Scope, in.Epoch) {
		return
	}
	reason := "stepping down"
	if in.Why != nil {
		reason = in.Why.Error()
	}
	m.report(Fact{Kind: Draining, Scope: s.Scope, Token: s.token, Err: in.Why, After: in.Timeout})
	m.drain(s, in.Why, Farewell{Token: s.token, Reason: reason, Actor: in.Actor, To: in.To}, now.Add(in.Timeout))
	s.resting, s.asked = true, true
}

func (m *Machine) stopping(now fence.Instant, in Stop) {
	m.stop, m.stopBy = true, now.Add(in.Timeout)
	for _, s := range m.seats {
		m.stepDown(now, StepDown{Scope: s.Scope, Why: or(in.Why, ErrStepDown), Timeout: in.Timeout})
		m.hurry(s)
	}
	m.watched = nil
	m.do(Watch{})
}

// hurry: what is ending gets no more time than there is left, whoever gave it more.
func (m *Machine) hurry(s *seat) {
	switch {
	case s.state != closing || s.abandoned:
	case s.drainBy == 0:
		s.drainBy = m.stopBy
	case s.drainBy > m.stopBy:
		s.drainBy = m.stopBy
		m.do(Hurry{Scope: s.Scope, By: m.stopBy})
	}
}

// ended: the role has returned and no act is under way.
func (m *Machine) ended(now fence.Instant, scope string) {
	s := m.seat(scope)
	if s == nil || s.state != closing {
		return
	}
	s.state, s.draining, s.drainBy = waiting, false, 0
	s.firstBid = 0
	// If it was given up without the promise, making it now is still true, and
	// lets the next one act at once unless somebody was minted since.
	s.abandoned = false
	f := s.parting
	f.Released = s.alone(now) && !errors.Is(s.why, ErrDeposed)
	s.farewell = &f
	s.try(now)
}
