package core

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// takeFailed takes the failure of the request under way. The session may have survived it.
func (m *Machine) takeFailed(now fence.Instant, in Failed) {
	what := m.asking
	m.asking = nothing
	if in.Lost || what == connecting {
		m.loseSession(now, in)
		return
	}
	switch what {
	case trying:
		m.bidsFailed(now, in.Err)
	case beating:
		for _, s := range m.asked {
			// Perhaps no term was renewed: all gates shut at once, until a heartbeat succeeds.
			if s.state == leading && !s.isLate() {
				m.addAction(Suspend{Scope: s.Scope})
				m.markLate(now, s, in.Err)
			}
			m.giveUpIfOverdue(now, s)
		}
	case parting:
		m.farewellsFailed(now, in.Err)
	case enlisting:
		m.changeRollFailed(now, in.Err)
	case nothing, connecting:
	}
	if what == parting && !m.stop && !m.anyToRenew() && now.Sub(m.releaseFailingFrom) > m.set.Lease {
		// This process leads nothing, and the locks of its session keep others out: end it. A
		// machine that stops ends at stopBy anyway.
		m.addAction(Disconnect{})
		m.loseSession(now, in)
	}
}

// errBeatLocked means that the mint could not renew a term because its heartbeat's row is locked.
var errBeatLocked = fmt.Errorf("%w: something else has locked the row of its heartbeat", fence.ErrLate)

func (m *Machine) markLate(now fence.Instant, s *seat, why error) {
	s.lateFrom = now
	m.addReport(Fact{Kind: Late, Scope: s.Scope, Token: s.token, Err: why})
}

// giveUpIfOverdue gives up a scope whose gate has been late for two leases. Heartbeats that always
// come late renew the term and never open the gate: the scope is held, and nobody acts. Not under
// Keep, where a holder keeps its scope as long as its connection lives.
func (m *Machine) giveUpIfOverdue(now fence.Instant, s *seat) {
	if s.isLate() && m.set.Takeover != mint.Keep && now.Sub(s.lateFrom) > 2*s.Lease {
		m.stepDown(now, StepDown{Scope: s.Scope, Why: ErrOverdue, Timeout: m.set.DrainTimeout})
	}
}

// loseSession ends every term, since the session has ended, and schedules the next one. Nothing is renewed
// and no act begins any more, whatever the mint still believes. Farewells are said in the next
// session, once the acts have ended.
func (m *Machine) loseSession(now fence.Instant, in Failed) {
	if m.link.up {
		m.link.downAt = now
	}
	m.link.up, m.roll = false, roll{}
	m.link.failures++
	m.link.retryAt = now.Add(m.backoff(m.link.failures))
	kind := Kind(Retrying)
	if errors.Is(in.Err, mint.ErrBarred) { // the next try would be barred too
		kind, m.link.retryAt = Barred, now.Add(m.jitter(m.set.RetryMax))
	}
	for _, s := range m.seats {
		s.session, s.found = session{}, found{}
		if s.saying != nil { // the mint may have recorded it
			s.saying, s.unheard = nil, true
		}
		switch s.state {
		case leading:
			m.addReport(Fact{Kind: Lost, Scope: s.Scope, Token: s.token, Err: in.Err})
			m.shutTerm(now, s, in.Err, mint.Farewell{Token: s.token, How: mint.EndedByLoss, Reason: "session lost"})
		case closing:
			s.draining = false
			if s.farewell != nil && !s.farewell.Released {
				s.untold = untold{} // it would only have freed the lock, which is gone
			}
		case waiting:
		}
	}
	m.addReport(Fact{Kind: kind, Err: in.Err, After: m.link.retryAt.Sub(now)})
	m.watchHolders()
}
