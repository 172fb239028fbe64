package election

import (
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/fence"
)

func (m *Machine) failed(now fence.Instant, in Failed) {
	what := m.asking
	m.asking = nothing
	if in.Lost || what == connecting {
		m.lost(now, in)
		return
	}
	m.draws = draws{}
	switch what {
	case trying:
		m.bidFailed(now, in.Err)
	case beating:
		for _, s := range m.asked {
			// Whether it took is unknown; the gate waits for one that surely did.
			if s.state == leading && !s.late {
				m.do(Suspend{Scope: s.Scope})
				m.late(now, s, in.Err)
			}
			m.overdue(now, s)
		}
	case parting:
		m.partFailed(now, in.Err)
	case enlisting:
		m.enlistFailed(now, in.Err)
	case nothing, connecting:
	}
	if what == parting && !m.stop && !m.renews() && now.Sub(m.muted) > m.set.Lease {
		// Nothing is led, and what the session still holds keeps others out: it is let go.
		m.do(Disconnect{})
		m.lost(now, in)
	}
}

// errBeatLocked: the mint passed over a term because something has locked its heartbeat.
var errBeatLocked = fmt.Errorf("%w: something else has locked the row of its heartbeat", fence.ErrLate)

func (m *Machine) late(now fence.Instant, s *seat, why error) {
	s.late, s.lateFrom = true, now
	m.report(Fact{Kind: Late, Scope: s.Scope, Token: s.token, Err: why})
}

// overdue gives a scope up whose gate has been shut for two leases on end. Its term goes on,
// since heartbeats come, too late or with errors, so others are told that it is held; and they
// may do better. Keep keeps it: there only the end of the connection frees a scope.
func (m *Machine) overdue(now fence.Instant, s *seat) {
	if s.late && m.set.Takeover != Keep && now.Sub(s.lateFrom) > 2*s.Lease {
		m.stepDown(now, StepDown{Scope: s.Scope, Why: ErrOverdue, Timeout: m.set.DrainTimeout})
	}
}

// splits is how many bids may fail in a row and be tried again in halves. A bad row or a
// few are told apart in fewer; what lasts longer is not about rows, and a bid for each
// scope would be a thousand errors instead of one.
const splits = 10

// bidFailed: nobody knows which of the scopes it was about, so each half is tried by
// itself, until the one that it is about fails alone and keeps nobody else from leading.
func (m *Machine) bidFailed(now fence.Instant, why error) {
	m.failing++
	n := len(m.asked)
	split := n > 1 && m.failing <= splits
	for _, s := range m.asked {
		if split || n == 1 {
			s.crowd = max(1, n/2)
		}
		if !split { // else it is not known to be the scope's
			s.failures++
		}
		s.try(now.Add(drawn(&m.draws.failed[min(s.failures, maxDoublings)], func() time.Duration { return m.backoff(max(1, s.failures)) })))
		if n > 1 { // the fault of one is no reason to poll the others later
			m.pollAt = max(m.pollAt, s.tryAt)
		}
		m.report(Fact{Kind: Retrying, Scope: s.Scope, Err: why, After: s.tryAt.Sub(now)})
		m.unled(s, now, why)
	}
}

// lost: the session is gone and every scope with it. Whatever the mint thinks by
// now, nothing is done in its name any more.
func (m *Machine) lost(now fence.Instant, in Failed) {
	if m.link.up {
		m.link.downAt = now
	}
	m.link.up, m.roll = false, roll{}
	m.link.failures++
	m.link.retryAt = now.Add(m.backoff(m.link.failures))
	kind := Retrying
	if errors.Is(in.Err, ErrBarred) { // as it would be the next time
		kind, m.link.retryAt = Barred, now.Add(m.jitter(m.set.RetryMax))
	}
	for _, s := range m.seats {
		s.busySince, s.stuck, s.process, s.nudges = 0, false, 0, 0
		s.listed = false
		if s.saying != nil { // it may have been heard
			s.saying, s.unheard = nil, true
		}
		switch s.state {
		case leading:
			m.report(Fact{Kind: Lost, Scope: s.Scope, Token: s.token, Err: in.Err})
			m.shut(now, s, in.Err, Farewell{Token: s.token, How: EndedByLoss, Reason: "session lost"})
		case closing:
			s.draining = false
			if s.farewell != nil && !s.farewell.Released {
				s.untold = untold{} // it would only have unlocked
			}
		case waiting:
		}
	}
	m.report(Fact{Kind: kind, Err: in.Err, After: m.link.retryAt.Sub(now)})
	m.watch()
}

// maxDoublings bounds the exponent of a back-off.
const maxDoublings = 10

// backoff is exponential with jitter, capped (S5).
func (m *Machine) backoff(failures int) time.Duration {
	d := m.set.BackoffMin << min(failures-1, maxDoublings)
	return m.between(min(d, m.set.RetryMax)/2, min(d, m.set.RetryMax))
}

// leftAlone is for how long nobody asks about a leader that has just been minted: what others
// have to look up about it can wait, its first act cannot.
const leftAlone = 50 * time.Millisecond
