package core

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/splitmix"
)

// Machine makes the decisions of an elector: for which scopes to bid and when, when to renew,
// when a gate opens and until when, in which order a leadership is given up. It is pure: an
// input and the time go in, actions come out, and the same inputs give the same actions. It is
// not safe for concurrent use. It keeps these rules (requirements S4–S11):
//
//   - a deadline counts from the instant when the heartbeat was sent;
//   - the act door opens Hold after the mint's reply, except under Fast;
//   - Released is said only when the act door has opened, Hold has passed (under Fast too), the
//     gate is shut and the last act has ended;
//   - nothing begins while the session is lost or a previous role still runs.
type Machine struct {
	*chance
	set                Settings
	seats              []*seat // sorted by scope
	link               link
	asked              []*seat // the seats of the request under way, in its order
	asking             request
	last               request       // the latest request, answered or not
	beatAt             fence.Instant // when the next heartbeat is due
	usedAt             fence.Instant // when the session was last used
	releaseFailures    int           // consecutive failed Release requests
	releaseFailingFrom fence.Instant // when the first of them failed; 0: the last one succeeded
	releaseFailedAt    fence.Instant // when the last of them failed
	nextSay            int           // place of the seat that comes first in the next batch of farewells
	watched            []int64
	roll               roll
	pace               pace // when each seat bids
	stop               bool
	stopBy             fence.Instant // when the time to drain is up; set with stop
	leaveAt            fence.Instant // until when a stopped machine keeps its session
	over               bool
	out                []Action
}

type request uint8

const (
	nothing request = iota
	connecting
	trying
	beating
	parting
	enlisting
)

type link struct {
	up       bool
	failures int
	retryAt  fence.Instant
	downAt   fence.Instant // when the session was lost
}

// NewMachine returns a machine that connects in its first step.
func NewMachine(s Settings) *Machine {
	s.LockTimeout = cmp.Or(s.LockTimeout, mint.DefaultLockTimeout(s.Lease))
	s.DrainTimeout = cmp.Or(s.DrainTimeout, 10*time.Second)
	s.Batch = cmp.Or(s.Batch, 500)
	m := &Machine{set: s, chance: &chance{source: splitmix.Source(s.Seed), shortest: s.BackoffMin, longest: s.RetryMax}}
	m.pace = pace{chance: m.chance, set: &m.set}
	for _, ss := range s.Seats {
		m.seats = append(m.seats, &seat{SeatSettings: ss})
	}
	slices.SortFunc(m.seats, func(a, b *seat) int { return strings.Compare(a.Scope, b.Scope) })
	m.numberSeats()
	return m
}

// Step takes inputs at the instant now and returns the actions to perform, in order. It works out
// once what the inputs lead to, since ten thousand scopes that change hands wake it ten thousand times.
func (m *Machine) Step(now fence.Instant, all ...Input) []Action {
	m.out = nil
	if m.over {
		return nil
	}
	for _, in := range all {
		m.takeInput(now, in)
	}
	m.passTime(now)
	m.startRequest(now)
	return m.out
}

func (m *Machine) takeInput(now fence.Instant, in Input) {
	switch in := in.(type) {
	case Opened:
		m.takeOpened(now)
	case Tried:
		m.takeTried(now, in)
	case Beaten:
		m.takeBeaten(now, in)
	case Parted:
		m.takeParted(now, in)
	case Enlisted:
		m.takeEnlisted()
	case Failed:
		m.takeFailed(now, in)
	case Woken:
		m.takeWoken(now, in)
	case StepDown:
		m.stepDown(now, in)
	case Ended:
		m.makeFarewell(now, in.Scope)
	case Add:
		m.addSeat(now, in.Seat)
	case Retire:
		m.retireSeat(in.Scope)
	case Rest:
		m.restSeat(now, in)
	case Stop:
		m.takeStop(now, in)
	case Tick:
	}
}

func (m *Machine) addAction(a Action) { m.out = append(m.out, a) }
func (m *Machine) addReport(f Fact)   { m.addAction(Report{Fact: f}) }

func (m *Machine) seatOf(scope string) *seat {
	if i, ok := m.findSeat(scope); ok {
		return m.seats[i]
	}
	return nil
}

// findSeat returns the place of a scope's seat, or the place where it belongs.
func (m *Machine) findSeat(scope string) (int, bool) {
	return slices.BinarySearchFunc(m.seats, scope, func(s *seat, scope string) int { return strings.Compare(s.Scope, scope) })
}

// leadsScope reports whether this process leads the scope, and with that epoch unless it is 0.
func (m *Machine) leadsScope(scope string, epoch int64) bool {
	s := m.seatOf(scope)
	return s != nil && s.state == leading && (epoch == 0 || epoch == s.token.Epoch)
}
