package core

import (
	"cmp"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// Giving scopes up on request.

func (m *Machine) stepDown(now fence.Instant, in StepDown) {
	s := m.seat(in.Scope)
	if !m.leads(in.Scope, in.Epoch) {
		return
	}
	reason := "stepping down"
	if in.Why != nil {
		reason = in.Why.Error()
	}
	if in.How == mint.EndedByFailure {
		m.report(Fact{Kind: Failing, Scope: s.Scope, Token: s.token, Err: in.Why, After: max(m.set.YieldAfterStep, s.restUntil.Sub(now))})
	}
	m.report(Fact{Kind: Draining, Scope: s.Scope, Token: s.token, Err: in.Why, After: in.Timeout})
	m.drain(s, in.Why, mint.Farewell{Token: s.token, How: in.How, Reason: reason, Actor: in.Actor, To: in.To}, now.Add(in.Timeout))
	s.yielding, s.owesAnswer = true, true
}

func (m *Machine) stopping(now fence.Instant, in Stop) {
	m.stop, m.stopBy = true, now.Add(in.Timeout)
	for _, s := range m.seats {
		m.stepDown(now, StepDown{Scope: s.Scope, Why: cmp.Or(in.Why, ErrStepDown), Timeout: in.Timeout})
		m.hurry(s)
	}
	m.watched = nil
	m.do(Watch{})
}

// hurry gives a term that is already ending no more time than the stop allows.
func (m *Machine) hurry(s *seat) {
	if s.state == closing && !s.abandoned && s.drainBy > m.stopBy {
		s.drainBy = m.stopBy
		m.do(Hurry{Scope: s.Scope, By: m.stopBy})
	}
}
