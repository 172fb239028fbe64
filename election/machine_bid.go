package election

import (
	"cmp"
	"time"

	"github.com/conchhq/conch/fence"
)

// When to bid, and for what. A seat bids soon after a wake, at the polls while somebody leads, and
// after a back-off otherwise. Seats with the same answer share their pauses, so that they stay in
// one statement.

// bidDue returns when the first seat that may bid is due.
func (m *Machine) bidDue() fence.Instant {
	if !m.link.up || m.stop {
		return never
	}
	due := never
	for _, s := range m.seats {
		if m.mayBid(s) {
			due = min(due, max(m.bidDueAt(s), m.fullUntil))
		}
	}
	return due
}

// bid tries the scopes that are due, a batch at a time, so that heartbeats come in between. A
// scope whose fence is busy is tried alone and last, since that bid blocks for a moment.
func (m *Machine) bid(now fence.Instant) {
	asked := m.appendDue(now, nil, false)
	asked = m.appendDue(now, asked, true) // polls come last
	if len(asked) == m.set.Batch {
		m.nextBid = (asked[len(asked)-1].place + 1) % len(m.seats)
	}
	bids := make([]Bid, len(asked))
	explained := 0
	for i, s := range asked {
		s.firstBid = cmp.Or(s.firstBid, now)
		bids[i] = Bid{Scope: s.Scope, Lease: s.Lease, Explain: explained < mostExplained && m.explain(now, s)}
		if bids[i].Explain {
			explained++
		}
	}
	if len(asked) > 0 {
		m.ask(trying, asked, Try{Bids: bids})
		return
	}
	busy := m.nextBusy(now)
	m.ask(trying, []*seat{busy}, Try{Bids: []Bid{{
		Scope: busy.Scope, Lease: busy.Lease,
		Block: m.set.LockTimeout, Evict: now.Sub(busy.busySince) > busy.Lease, Explain: m.explain(now, busy),
	}}})
}

// appendDue appends the seats that are due and fit into the batch, starting where the last one ended.
func (m *Machine) appendDue(now fence.Instant, asked []*seat, polled bool) []*seat {
	room := m.set.Batch
	for _, s := range asked {
		room = min(room, cmp.Or(s.bidBatch, room))
	}
	for i := range m.seats {
		s := m.seats[(m.nextBid+i)%len(m.seats)]
		if len(asked) < min(room, cmp.Or(s.bidBatch, room)) && m.mayBid(s) && s.busySince == 0 && s.polled == polled && now >= m.bidDueAt(s) {
			asked = append(asked, s)
			room = min(room, cmp.Or(s.bidBatch, room))
		}
	}
	return asked
}

// nextBusy returns the due seat with a busy fence that was tried longest ago.
func (m *Machine) nextBusy(now fence.Instant) (busy *seat) {
	for _, s := range m.seats {
		if m.mayBid(s) && s.busySince != 0 && now >= m.bidDueAt(s) && (busy == nil || s.tryAt < busy.tryAt) {
			busy = s
		}
	}
	return busy
}

// mayBid reports whether a seat may bid. Its farewell goes first, unless a try of it has failed.
func (m *Machine) mayBid(s *seat) bool {
	return s.state == waiting && s.campaigns() && m.registered(s) && (s.farewell == nil || s.sayFailures > 0)
}

// bidDueAt returns when a seat's next bid is due.
func (m *Machine) bidDueAt(s *seat) fence.Instant {
	if s.polled {
		return max(m.pollAt, s.restUntil)
	}
	return max(s.tryAt, s.restUntil)
}

// quickTries limits the tries in quick succession after a wake. A rival's bid holds a lock for a
// moment, and on a busy machine a killed process frees its locks some time apart.
const quickTries = 10

// farewellTries are the quick tries after a farewell, which frees all locks at once. So only the bid
// of a rival can be in the way.
const farewellTries = quickTries - 3

// nextTry schedules the next bid of a seat that lost one: soon after a wake, otherwise at a poll.
func (m *Machine) nextTry(s *seat, now fence.Instant) {
	if s.quickTries > 0 {
		step := quickTries - s.quickTries
		s.quickTries--
		s.try(now.Add(drawn(&m.draws.quickTries[step], func() time.Duration { return m.jitter(time.Millisecond << min(step, 5)) })))
		return
	}
	if s.process == 0 {
		m.rebid(s, now)
		return
	}
	s.polled = true // the end of the holder's process wakes the seat earlier
	if m.pollAt <= now {
		m.pollAt = now.Add(m.jitter(m.set.CheckInterval))
	}
}

// rebid schedules a bid soon, when there is no process to wait for (S5).
func (m *Machine) rebid(s *seat, now fence.Instant) {
	s.try(now.Add(drawn(&m.draws.backoff, func() time.Duration { return m.between(m.set.BackoffMin, m.set.BackoffMax) })))
}

func (s *seat) try(at fence.Instant) { s.tryAt, s.polled = at, false }

// draws are the random pauses that seats with the same answer share. Seats with different pauses
// would bid in different statements.
type draws struct {
	quickTries [quickTries]time.Duration
	backoff    time.Duration
	refused    time.Duration
	failed     [maxDoublings + 1]time.Duration
}

func drawn(kept *time.Duration, draw func() time.Duration) time.Duration {
	if *kept == 0 {
		*kept = draw()
	}
	return *kept
}
