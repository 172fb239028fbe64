package core

import (
	"errors"
	"slices"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// roll is what this machine knows of its registration with the mint: the scopes (seat.listed) and
// one lease for all of them, the longest. A scope is registered before its first bid, under a lease
// no shorter than the bid's: after a failover that forgets a term, the longest registered lease says
// how long the term's gate may still be open.
type roll struct {
	longest  time.Duration // the longest lease that this session has registered
	asked    time.Duration // longest, if the request under way succeeds
	failures int           // consecutive changes that failed
	at       fence.Instant // no change before this
}

// addSeat adds a scope. For a known scope it stores the settings of the next term and takes a
// retirement back.
func (m *Machine) addSeat(now fence.Instant, set SeatSettings) {
	at, known := m.findSeat(set.Scope)
	if known {
		s := m.seats[at]
		s.next, s.retired = &set, false
		return
	}
	s := &seat{SeatSettings: set}
	s.tryAt = m.pace.rankedTurn(now, set.Rank)
	m.seats = slices.Insert(m.seats, at, s)
	m.numberSeats()
}

func (m *Machine) retireSeat(scope string) {
	if s := m.seatOf(scope); s != nil {
		s.retired = true
		m.watchHolders()
	}
}

// restSeat keeps the machine from bidding for a scope; a longer pause stays as it is.
func (m *Machine) restSeat(now fence.Instant, in Rest) {
	if s := m.seatOf(in.Scope); s != nil {
		s.restUntil = max(s.restUntil, now.Add(in.For))
	}
}

// isCandidate reports whether this candidate wants the scope; mayBid reports whether it may bid now.
func (s *seat) isCandidate() bool { return !s.Never && !s.retired }

// isRegistered reports whether the roll has the scope with a lease at least as long as the seat's.
func (m *Machine) isRegistered(s *seat) bool { return s.listed && s.Lease <= m.roll.longest }

// rollDiffers reports whether the roll has to be changed.
func (m *Machine) rollDiffers() bool {
	return slices.ContainsFunc(m.seats, func(s *seat) bool { return s.isCandidate() && !m.isRegistered(s) || !s.isCandidate() && s.listed })
}

// openSession opens a session, which registers the candidate for every scope of its campaign.
func (m *Machine) openSession(fence.Instant) {
	m.asking, m.roll.asked = connecting, 0
	var scopes []string
	for _, s := range m.seats {
		if s.listedNext = s.isCandidate(); s.listedNext {
			scopes = append(scopes, s.Scope)
			m.roll.asked = max(m.roll.asked, s.Lease)
		}
	}
	m.addAction(Connect{Scopes: scopes, Longest: m.roll.asked})
}

// takeRegistered notes the scopes for which the new session is registered.
func (m *Machine) takeRegistered() {
	m.roll.longest = m.roll.asked
	for _, s := range m.seats {
		s.listed = s.listedNext
	}
}

func (m *Machine) changeRollDue() fence.Instant {
	if m.stop || !m.rollDiffers() {
		return never
	}
	return m.roll.at
}

// changeRoll tells the mint which scopes to add to the roll and which to withdraw.
func (m *Machine) changeRoll(fence.Instant) {
	change := mint.Roll{Longest: m.roll.longest}
	var asked []*seat
	for _, s := range m.seats {
		switch s.listedNext = s.isCandidate(); {
		case s.listedNext && !m.isRegistered(s):
			change.Add = append(change.Add, s.Scope)
			change.Longest = max(change.Longest, s.Lease)
		case !s.listedNext && s.listed:
			change.Withdraw = append(change.Withdraw, s.Scope)
		default:
			continue
		}
		asked = append(asked, s)
	}
	m.roll.asked = change.Longest
	m.askMint(enlisting, asked, Enlist{Roll: change})
}

func (m *Machine) takeEnlisted() {
	m.asking = nothing
	m.roll.longest, m.roll.failures = m.roll.asked, 0
	for _, s := range m.asked {
		s.listed = s.listedNext
	}
}

// changeRollFailed schedules another try. Until then there is no bid for a scope that is not
// registered. takeFailed has cleared m.asking.
func (m *Machine) changeRollFailed(now fence.Instant, why error) {
	m.roll.failures++
	m.roll.at = now.Add(m.backoff(m.roll.failures))
	kind := Kind(Retrying)
	if errors.Is(why, mint.ErrBarred) {
		kind, m.roll.at = Barred, now.Add(m.jitter(m.set.RetryMax))
	}
	for _, s := range m.asked {
		if s.listedNext {
			m.addReport(Fact{Kind: kind, Scope: s.Scope, Err: why, After: m.roll.at.Sub(now)})
			m.noteUnled(s, now, why)
		}
	}
}

// adoptSettings gives a seat its new settings once no term and no bid is left under the old ones, since a
// term keeps the lease of its bid.
func (m *Machine) adoptSettings(s *seat) {
	if s.next != nil && s.state == waiting && !m.underWay(s) {
		s.SeatSettings, s.next = *s.next, nil
		m.watchHolders()
	}
}

// underWay reports whether the request under way concerns the seat.
func (m *Machine) underWay(s *seat) bool {
	return m.asking == connecting || m.asking != nothing && slices.Contains(m.asked, s)
}

// forgetSeats drops a retired seat once it is off the roll, has no term and no farewell left, and the
// request under way does not concern it.
func (m *Machine) forgetSeats() {
	before := len(m.seats)
	m.seats = slices.DeleteFunc(m.seats, func(s *seat) bool {
		gone := s.retired && !s.listed && s.state == waiting && s.farewell == nil && !m.underWay(s)
		if gone {
			m.addAction(Forget{Scope: s.Scope})
		}
		return gone
	})
	if len(m.seats) != before {
		m.numberSeats()
	}
}

// numberSeats sets the place of each seat.
func (m *Machine) numberSeats() {
	for i, s := range m.seats {
		s.place = i
	}
}

// retireWaits reports whether a call of Retire must still wait: this machine has not taken it yet, or
// the mint has the scope on the roll, or may put it there.
func (m *Machine) retireWaits(scope string) bool {
	s := m.seatOf(scope)
	return s != nil && (!s.retired || s.listed || s.listedNext && m.underWay(s))
}
