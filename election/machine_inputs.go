package election

import (
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
)

func (m *Machine) opened(now fence.Instant) {
	m.asking = nothing
	away := now.Sub(m.link.downAt) > m.set.Lease // others may have led unseen
	m.link = link{up: true}
	m.heardAt, m.beatAt, m.muted, m.deaf = now, now, 0, 0
	m.onRoll()
	for _, s := range m.seats {
		s.sayAt = now
		if away {
			m.led(s, now)
		}
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

// watch keeps the set of awaited processes in step with who holds what.
func (m *Machine) watch() {
	var want []int64
	for _, s := range m.seats {
		if s.state == waiting && s.process != 0 && s.campaigns() && !slices.Contains(want, s.process) {
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
	for i, answer := range in.Answers {
		s := m.asked[i]
		s.unsure = nil
		if answer == Locked { // its gate shuts when its time is over, the others' do not
			s.unsure = errBeatLocked
			m.overdue(now, s)
			continue
		}
		if s.state != leading { // shut before, or while the heartbeat was under way
			m.drained(s, in.Sent, answer == Renewed)
			continue
		}
		if answer == Over {
			m.report(Fact{Kind: Lost, Scope: s.Scope, Token: s.token, Err: ErrDeposed})
			m.shut(now, s, ErrDeposed, Farewell{Token: s.token, How: EndedByLoss, Reason: "deposed"})
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
	if in.How == EndedByFailure {
		m.report(Fact{Kind: Failing, Scope: s.Scope, Token: s.token, Err: in.Why, After: m.set.YieldAfterStep})
	}
	m.report(Fact{Kind: Draining, Scope: s.Scope, Token: s.token, Err: in.Why, After: in.Timeout})
	m.drain(s, in.Why, Farewell{Token: s.token, How: in.How, Reason: reason, Actor: in.Actor, To: in.To}, now.Add(in.Timeout))
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
	if s.state == closing && !s.abandoned && s.drainBy > m.stopBy {
		s.drainBy = m.stopBy
		m.do(Hurry{Scope: s.Scope, By: m.stopBy})
	}
}
