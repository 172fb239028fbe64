package election

import (
	"time"

	"github.com/conchhq/conch/fence"
)

// When to bid, and for what. A seat bids soon after something wakes it, with the poll while
// somebody leads, and after a back-off otherwise. Seats that got one answer share their
// pauses, so that they go on bidding in one statement.

// bidDue is when the first of the seats that may bid is due.
func (m *Machine) bidDue() fence.Instant {
	if !m.link.up || m.stop {
		return never
	}
	due := never
	for _, s := range m.seats {
		if m.bids(s) {
			due = min(due, max(m.triedAt(s), m.fullTil))
		}
	}
	return due
}

// bid tries the scopes whose time has come, a batch at a time, so that heartbeats
// come in between. A scope whose fence is busy is tried by itself and after all
// others, since that blocks for a moment.
func (m *Machine) bid(now fence.Instant) {
	asked := m.due(now, nil, false)
	asked = m.due(now, asked, true) // what nobody has woken comes last
	if len(asked) == m.set.Batch {
		m.from = (asked[len(asked)-1].place + 1) % len(m.seats)
	}
	bids := make([]Bid, len(asked))
	explained := 0
	for i, s := range asked {
		s.firstBid = or(s.firstBid, now)
		bids[i] = Bid{Scope: s.Scope, Lease: s.Lease, Explain: explained < mostExplained && m.explain(now, s)}
		if bids[i].Explain {
			explained++
		}
	}
	if len(asked) > 0 {
		m.ask(trying, asked, Try{Bids: bids})
		return
	}
	busy := m.busiest(now)
	m.ask(trying, []*seat{busy}, Try{Bids: []Bid{{
		Scope: busy.Scope, Lease: busy.Lease,
		Block: m.set.LockTimeout, Evict: now.Sub(busy.busySince) > busy.Lease, Explain: m.explain(now, busy),
	}}})
}

// due adds the seats to bid for, as far as they fit, from where the last batch ended.
func (m *Machine) due(now fence.Instant, asked []*seat, polled bool) []*seat {
	room := m.set.Batch
	for _, s := range asked {
		room = min(room, or(s.crowd, room))
	}
	for i := range m.seats {
		s := m.seats[(m.from+i)%len(m.seats)]
		if len(asked) < min(room, or(s.crowd, room)) && m.bids(s) && s.busySince == 0 && s.polled == polled && now >= m.triedAt(s) {
			asked = append(asked, s)
			room = min(room, or(s.crowd, room))
		}
	}
	return asked
}

// busiest is the seat that has waited longest for acts of the last term.
func (m *Machine) busiest(now fence.Instant) (busy *seat) {
	for _, s := range m.seats {
		if m.bids(s) && s.busySince != 0 && now >= m.triedAt(s) && (busy == nil || s.tryAt < busy.tryAt) {
			busy = s
		}
	}
	return busy
}

// bids reports whether a seat may bid. Its farewell goes first, but one that the mint does
// not take keeps no seat from bidding.
func (m *Machine) bids(s *seat) bool {
	return s.state == waiting && s.campaigns() && m.lists(s) && (s.farewell == nil || s.sayings > 0)
}

// triedAt is when a seat that bids is due.
func (m *Machine) triedAt(s *seat) fence.Instant {
	if s.polled {
		return max(m.pollAt, s.away)
	}
	return max(s.tryAt, s.away)
}

// quickTries is how often a scope is tried in quick succession after a wake: a
// rival who looks as well has a lock for that moment, and on a busy machine a process
// that was killed lets go of one lock some time before the next.
const quickTries = 10

// laterTries are what is left of them after a farewell: that frees everything in one go,
// so whoever is in our way is a rival who is being minted.
const laterTries = quickTries - 3

// nextTry sets when a seat that lost a bid tries again: soon after a wake, else
// when the poll is due that repairs a missed wake.
func (m *Machine) nextTry(s *seat, now fence.Instant) {
	if s.nudges > 0 {
		step := quickTries - s.nudges
		s.nudges--
		s.try(now.Add(drawn(&m.draws.nudges[step], func() time.Duration { return m.jitter(time.Millisecond << min(step, 5)) })))
		return
	}
	if s.process == 0 {
		m.rebid(s, now)
		return
	}
	s.polled = true // the end of its holder wakes us earlier
	if m.pollAt <= now {
		m.pollAt = now.Add(m.jitter(m.set.CheckInterval))
	}
}

// rebid tries again soon, with nothing to wait for (S5).
func (m *Machine) rebid(s *seat, now fence.Instant) {
	s.try(now.Add(drawn(&m.draws.backoff, func() time.Duration { return m.between(m.set.BackoffMin, m.set.BackoffMax) })))
}

func (s *seat) try(at fence.Instant) { s.tryAt, s.polled = at, false }

// draws are the pauses that seats with one answer have in common: each with a pause
// of its own would bid in a statement of its own.
type draws struct {
	nudges  [quickTries]time.Duration
	backoff time.Duration
	refused time.Duration
	failed  [maxDoublings + 1]time.Duration
}

func drawn(kept *time.Duration, draw func() time.Duration) time.Duration {
	if *kept == 0 {
		*kept = draw()
	}
	return *kept
}
