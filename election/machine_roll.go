package election

import (
	"errors"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
)

// roll is what the mint knows this candidate to campaign for. A scope is put on it before the
// first bid, with a lease that is at least the bid's: a failover of the mint may forget a
// term, and then the leases on the roll say how long its gate may still be open.
type roll struct {
	longest  time.Duration // the longest lease that the mint was told
	saying   time.Duration // the same, as the request under way says it
	failures int           // changes in a row that ended in an error
	at       fence.Instant // no change before this
}

// add takes up a scope, or new settings for one that is known.
func (m *Machine) add(now fence.Instant, set SeatSettings) {
	at, known := m.find(set.Scope)
	if known {
		s := m.seats[at]
		s.next, s.retired = &set, false
		return
	}
	s := &seat{SeatSettings: set}
	s.try(now.Add(time.Duration(set.Rank) * m.set.RankDelay))
	m.seats = slices.Insert(m.seats, at, s)
	m.number()
}

func (m *Machine) retire(scope string) {
	if s := m.seat(scope); s != nil {
		s.retired = true
		m.watch()
	}
}

func (m *Machine) restFor(now fence.Instant, in Rest) {
	if s := m.seat(in.Scope); s != nil {
		s.away = max(s.away, now.Add(in.For))
	}
}

// campaigns reports whether this candidate wants the scope.
func (s *seat) campaigns() bool { return !s.Never && !s.retired }

// lists reports whether the mint's roll has the scope, with a lease as long as the seat's.
func (m *Machine) lists(s *seat) bool { return s.listed && s.Lease <= m.roll.longest }

// strays reports whether the mint's roll is not as it should be.
func (m *Machine) strays() bool {
	return slices.ContainsFunc(m.seats, func(s *seat) bool { return s.campaigns() && !m.lists(s) || !s.campaigns() && s.listed })
}

// connect opens a session, which registers the candidate for all that it campaigns for.
func (m *Machine) connect(fence.Instant) {
	m.asking, m.roll.saying = connecting, 0
	var scopes []string
	for _, s := range m.seats {
		if s.listing = s.campaigns(); s.listing {
			scopes = append(scopes, s.Scope)
			m.roll.saying = max(m.roll.saying, s.Lease)
		}
	}
	m.do(Connect{Scopes: scopes, Longest: m.roll.saying})
}

// onRoll notes what a new session was opened for.
func (m *Machine) onRoll() {
	m.roll.longest = m.roll.saying
	for _, s := range m.seats {
		s.listed = s.listing
	}
}

func (m *Machine) enlistDue() fence.Instant {
	if !m.link.up || m.stop || !m.strays() {
		return never
	}
	return m.roll.at
}

// enlist tells the mint what this candidate campaigns for besides, and what no longer.
func (m *Machine) enlist(fence.Instant) {
	change := Roll{Longest: m.roll.longest}
	var asked []*seat
	for _, s := range m.seats {
		switch s.listing = s.campaigns(); {
		case s.listing && !m.lists(s):
			change.Add = append(change.Add, s.Scope)
			change.Longest = max(change.Longest, s.Lease)
		case !s.listing && s.listed:
			change.Withdraw = append(change.Withdraw, s.Scope)
		default:
			continue
		}
		asked = append(asked, s)
	}
	m.roll.saying = change.Longest
	m.ask(enlisting, asked, Enlist{Roll: change})
}

func (m *Machine) enlisted() {
	m.asking = nothing
	m.roll.longest, m.roll.failures = m.roll.saying, 0
	for _, s := range m.asked {
		s.listed = s.listing
	}
}

// enlistFailed tries again later. What was to be added is not bid for until then.
func (m *Machine) enlistFailed(now fence.Instant, why error) {
	m.roll.failures++
	m.roll.at = now.Add(m.backoff(m.roll.failures))
	kind := Retrying
	if errors.Is(why, ErrBarred) {
		kind, m.roll.at = Barred, now.Add(m.jitter(m.set.RetryMax))
	}
	for _, s := range m.asked {
		if s.listing {
			m.report(Fact{Kind: kind, Scope: s.Scope, Err: why, After: m.roll.at.Sub(now)})
			m.unled(s, now, why)
		}
	}
}

// adopt gives a seat its new settings once no term and no bid under the old ones is left: a
// term's lease is the one that its bid was minted with.
func (m *Machine) adopt(s *seat) {
	if s.next != nil && s.state == waiting && !m.underWay(s) {
		s.SeatSettings, s.next = *s.next, nil
		m.watch()
	}
}

// underWay reports whether the request under way concerns a seat.
func (m *Machine) underWay(s *seat) bool {
	return m.asking == connecting || m.asking != nothing && slices.Contains(m.asked, s)
}

// forget drops the seats that were retired, once the mint knows and no term of theirs is left.
func (m *Machine) forget() {
	before := len(m.seats)
	m.seats = slices.DeleteFunc(m.seats, func(s *seat) bool {
		gone := s.retired && !s.listed && s.state == waiting && s.farewell == nil && !m.underWay(s)
		if gone {
			m.do(Forget{Scope: s.Scope})
		}
		return gone
	})
	if len(m.seats) != before {
		m.number()
	}
}

// number gives each seat its place.
func (m *Machine) number() {
	for i, s := range m.seats {
		s.place = i
	}
}

// enrolled reports whether the mint may have this candidate on its roll for a scope, or will.
func (m *Machine) enrolled(scope string) bool {
	s := m.seat(scope)
	return s != nil && (!s.retired || s.listed || s.listing && m.underWay(s))
}
