package core

import (
	"cmp"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// Giving scopes up on request.

func (m *Machine) stepDown(now fence.Instant, in StepDown) {
	s := m.seatOf(in.Scope)
	if !m.leadsScope(in.Scope, in.Epoch) {
		return
	}
	reason := "stepping down"
	if in.Why != nil {
		reason = in.Why.Error()
	}
	if in.How == mint.EndedByFailure {
		m.addReport(Fact{Kind: Failing, Scope: s.Scope, Token: s.token, Err: in.Why, After: max(m.set.YieldAfterStep, s.restUntil.Sub(now))})
	}
	m.addReport(Fact{Kind: Draining, Scope: s.Scope, Token: s.token, Err: in.Why, After: in.Timeout})
	m.beginDrain(s, in.Why, mint.Farewell{Token: s.token, How: in.How, Reason: reason, Actor: in.Actor, To: in.To}, now.Add(in.Timeout))
	s.yielding, s.owesAnswer = true, true
}

func (m *Machine) takeStop(now fence.Instant, in Stop) {
	m.stop, m.stopBy = true, now.Add(in.Timeout)
	for _, s := range m.seats {
		m.stepDown(now, StepDown{Scope: s.Scope, Why: cmp.Or(in.Why, ErrStepDown), Timeout: in.Timeout})
		m.hurryDrain(s)
	}
	m.watched = nil
	m.addAction(Watch{})
}

// hurryDrain gives a term that is already ending no more time than the stop allows.
func (m *Machine) hurryDrain(s *seat) {
	if s.state == closing && !s.abandoned && s.drainBy > m.stopBy {
		s.drainBy = m.stopBy
		m.addAction(Hurry{Scope: s.Scope, By: m.stopBy})
	}
}
