package core

import (
	"slices"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// chore is something that the machine starts when no request is under way: a request to the mint,
// or the end. startRequest does it when it is due, and Next tells the loop when that is.
type chore struct {
	due func(*Machine) fence.Instant
	do  func(*Machine, fence.Instant)
}

var (
	leave     = chore{(*Machine).endLoopDue, (*Machine).endLoop}
	connect   = chore{(*Machine).openSessionDue, (*Machine).openSession}
	renew     = chore{(*Machine).renewTermsDue, (*Machine).renewTerms}
	part      = chore{(*Machine).sayFarewellsDue, (*Machine).sayFarewells}
	enlist    = chore{(*Machine).changeRollDue, (*Machine).changeRoll}
	bid       = chore{(*Machine).sendBidsDue, (*Machine).sendBids}
	keepAlive = chore{(*Machine).keepAliveDue, (*Machine).keepAlive}
)

// startRequest makes the next request to the mint, if none is under way.
func (m *Machine) startRequest(now fence.Instant) {
	if m.asking != nothing {
		return
	}
	for _, c := range m.listChores(now) {
		if now >= c.due(m) {
			m.usedAt = now
			c.do(m, now)
			return
		}
	}
}

// listChores returns the chores, the most urgent first. Heartbeats and farewells must not starve each
// other. On a slow line the next heartbeat is due as soon as one is answered, so after a heartbeat
// farewells go first. A farewell that fails is due again at once, so in the step of its failure
// everything but keepAlive goes first.
func (m *Machine) listChores(now fence.Instant) []chore {
	switch {
	case !m.link.up:
		return []chore{leave, connect}
	case m.last == beating:
		return []chore{leave, part, renew, enlist, bid, keepAlive}
	case m.releaseFailures > 0 && m.releaseFailedAt == now:
		return []chore{leave, renew, enlist, bid, part, keepAlive}
	}
	return []chore{leave, renew, part, enlist, bid, keepAlive}
}

// endLoopDue returns when a stopped machine ends. It keeps its session until leaveAt (Linger), but
// not beyond stopBy.
func (m *Machine) endLoopDue() fence.Instant {
	switch {
	case !m.stop || !m.nothingLeft():
		return never
	case !m.link.up:
		return 0
	}
	return min(m.leaveAt, m.stopBy)
}

// nothingLeft reports whether this process leads nothing, waits for no role and can tell the mint
// nothing more. Abandoned roles may still run; without a session no farewell is waited for.
func (m *Machine) nothingLeft() bool {
	return !slices.ContainsFunc(m.seats, func(s *seat) bool {
		return s.state == leading || s.state == closing && !s.abandoned || s.farewell != nil && m.link.up
	})
}

func (m *Machine) endLoop(fence.Instant) {
	m.over = true
	if m.link.up {
		m.addAction(Disconnect{})
	}
	m.addAction(Done{})
}

func (m *Machine) openSessionDue() fence.Instant {
	if m.stop || !slices.ContainsFunc(m.seats, (*seat).isCandidate) {
		return never
	}
	return m.link.retryAt
}

// anyToRenew reports whether heartbeats have a term to renew.
func (m *Machine) anyToRenew() bool { return slices.ContainsFunc(m.seats, (*seat).toRenew) }

// toRenew reports whether heartbeats renew the seat's term: it leads, or its acts drain.
func (s *seat) toRenew() bool { return s.state == leading || s.draining }

func (m *Machine) renewTermsDue() fence.Instant {
	if !m.anyToRenew() {
		return never
	}
	return m.beatAt
}

// renewTerms renews all terms in one request.
func (m *Machine) renewTerms(now fence.Instant) {
	var pulses []mint.Pulse
	var asked []*seat
	for _, s := range m.seats {
		if s.toRenew() {
			s.settling = s.actsAlone(now) && !s.settled // this heartbeat tells the mint that the hold is over
			pulses = append(pulses, mint.Pulse{Token: s.token, Settle: s.settling})
			asked = append(asked, s)
		}
	}
	m.beatAt = now.Add(m.jitter(m.set.Heartbeat))
	m.askMint(beating, asked, Beat{Pulses: pulses})
}

func (m *Machine) keepAliveDue() fence.Instant {
	if m.anyToRenew() {
		return never
	}
	return m.usedAt.Add(m.set.Lease / 3) // the server ends a session that is idle for a lease
}

// keepAlive sends an empty heartbeat while there is no term to renew, since the mint would take an
// idle session for dead.
func (m *Machine) keepAlive(fence.Instant) { m.askMint(beating, nil, Beat{}) }

// askMint makes the one request that may be under way; its answer clears asking.
func (m *Machine) askMint(r request, asked []*seat, a Action) {
	m.asking, m.asked, m.last = r, asked, r
	m.addAction(a)
}
