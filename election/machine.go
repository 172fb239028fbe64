package election

import (
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/fence"
)

// Machine decides everything an elector does: which scopes to bid for and when,
// when to renew, when a gate opens and until when, in which order a leadership
// is given up. It is pure: an input and the time go in, actions come out. It
// starts nothing, waits for nothing, reads no clock, and given the same inputs
// it does the same. It is not safe for concurrent use.
//
// The rules it keeps (requirements S4–S11):
//
//   - a deadline is anchored on the instant a heartbeat was sent;
//   - the act door opens Hold after the mint's reply, not earlier;
//   - Released is said only after the act door had opened, Hold had passed (which Fast
//     does not wait for to act), the gate was shut and the last act had ended;
//   - nothing is begun while the session is lost or a previous role still runs.
type Machine struct {
	set     Settings
	seats   []*seat // in scope order
	link    link
	asked   []*seat // whom the request under way concerns, in its order
	asking  request
	last    request       // the latest, answered or not
	beatAt  fence.Instant // when the next heartbeat is due
	heardAt fence.Instant // when the session was last used
	muted   fence.Instant // since when each farewell has failed
	deaf    int           // farewells in a row that ended in an error
	deafAt  fence.Instant // when the last of them ended
	sayNext int           // the seat to begin with when saying more
	watched []int64
	roll    roll
	pollAt  fence.Instant // when the seats that wait for the poll are bid for, Batch of them
	from    int           // the seat to begin with: more were due than fit
	failing int           // bids in a row that ended in an error
	fullTil fence.Instant // no bids before this: the mint has no room
	fulls   int           // in a row
	draws   draws
	random  uint64
	stop    bool
	stopBy  fence.Instant // when the time to drain is up, once stopping
	leaveAt fence.Instant // a stopped machine keeps its session until then
	over    bool
	out     []Action
}

// Settings are what the machine needs to know of a Config.
type Settings struct {
	Seats          []SeatSettings
	Takeover       Takeover
	Lease          time.Duration // of the session: the shortest of the seats'
	Heartbeat      time.Duration
	CheckInterval  time.Duration
	LockTimeout    time.Duration // how long a bid waits for a busy fence; default DefaultLockTimeout
	DrainTimeout   time.Duration // how long acts may take to end when the machine itself gives a scope up; default 10 s
	BackoffMin     time.Duration
	BackoffMax     time.Duration
	RetryMax       time.Duration // the cap of the exponential back-off on errors
	StaleAfter     time.Duration // report a holder whose last heartbeat is older; 0: never
	Seed           uint64        // for jitter
	RankDelay      time.Duration // a candidate of rank n bids n times this later
	YieldAfterStep time.Duration // a candidate that gave a scope up lets others go first
	Linger         time.Duration // how long one that stops keeps its session after a farewell
	Batch          int           // bids or farewells in one call; default 500
}

// SeatSettings are one role's part of the Settings.
type SeatSettings struct {
	Scope  string
	Lease  time.Duration
	Margin time.Duration
	Late   time.Duration // shuts the gate this long after the last heartbeat sent
	Rank   int           // 0 is preferred most
	Never  bool          // watches only
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
	downAt   fence.Instant // when it was lost
}

// NewMachine returns a machine that wants to connect at once.
func NewMachine(s Settings) *Machine {
	s.LockTimeout = or(s.LockTimeout, DefaultLockTimeout(s.Lease))
	s.DrainTimeout = or(s.DrainTimeout, 10*time.Second)
	s.Batch = or(s.Batch, 500)
	m := &Machine{set: s, random: s.Seed}
	for _, ss := range s.Seats {
		m.seats = append(m.seats, &seat{SeatSettings: ss})
	}
	slices.SortFunc(m.seats, func(a, b *seat) int { return strings.Compare(a.Scope, b.Scope) })
	m.number()
	return m
}

// Step takes one input at the time now and returns what to do, in order.
func (m *Machine) Step(now fence.Instant, in Input) []Action {
	m.out = nil
	if m.over {
		return nil
	}
	if several, ok := in.(Several); ok {
		for _, one := range several.Inputs {
			m.take(now, one)
		}
	} else {
		m.take(now, in)
	}
	m.pass(now)
	m.pump(now)
	return m.out
}

func (m *Machine) take(now fence.Instant, in Input) {
	switch in := in.(type) {
	case Opened:
		m.opened(now)
	case Tried:
		m.tried(now, in)
	case Beaten:
		m.beaten(now, in)
	case Parted:
		m.parted(now, in)
	case Enlisted:
		m.enlisted()
	case Failed:
		m.failed(now, in)
	case Woken:
		m.woken(now, in)
	case StepDown:
		m.stepDown(now, in)
	case Ended:
		m.ended(now, in.Scope)
	case Add:
		m.add(now, in.Seat)
	case Retire:
		m.retire(in.Scope)
	case Rest:
		m.restFor(now, in)
	case Stop:
		m.stopping(now, in)
	case Tick, Several:
	}
}

// left says whether a role is still running although all is over.
func (m *Machine) left() error {
	for _, s := range m.seats {
		if s.state == closing {
			return ErrDrainTimeout
		}
	}
	return nil
}

func (m *Machine) do(a Action)   { m.out = append(m.out, a) }
func (m *Machine) report(f Fact) { m.do(Report{Fact: f}) }

func (m *Machine) seat(scope string) *seat {
	if i, ok := m.find(scope); ok {
		return m.seats[i]
	}
	return nil
}

// find returns the place of a scope's seat, or the place where it would be.
func (m *Machine) find(scope string) (int, bool) {
	return slices.BinarySearchFunc(m.seats, scope, func(s *seat, scope string) int { return strings.Compare(s.Scope, scope) })
}

// pass does what the mere passing of time asks for.
func (m *Machine) pass(now fence.Instant) {
	for _, s := range m.seats {
		switch s.state {
		case leading:
			if !s.entered && !s.late && now >= s.actFrom && now < s.deadline {
				s.entered = true
				m.do(Enter{Token: s.token})
				m.report(Fact{Kind: Entered, Scope: s.Scope, Token: s.token})
			}
			if !s.late && now >= s.deadline {
				m.late(now, s, or(s.unsure, fence.ErrLate))
			}
		case closing:
			if s.drainBy != 0 && now >= s.drainBy {
				s.drainBy = 0
				m.abandon(s)
			}
		case waiting:
		}
		m.giveUpSaying(now, s)
		m.adopt(s)
	}
	m.forget()
}

// jitter spreads d by ±20 % (S10), so that processes do not fall into step.
func (m *Machine) jitter(d time.Duration) time.Duration {
	return m.between(d-d/5, d+d/5)
}

func (m *Machine) between(lo, hi time.Duration) time.Duration {
	if hi <= lo {
		return lo
	}
	// splitmix64 (Steele, Lea, Flood 2014): small, seedable, good enough to spread.
	m.random += 0x9e3779b97f4a7c15
	z := m.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return lo + time.Duration(z%uint64(hi-lo))
}

// leads tells whether there is a term to step down from: that of the epoch, if one is named.
func (m *Machine) leads(scope string, epoch int64) bool {
	s := m.seat(scope)
	return s != nil && s.state == leading && (epoch == 0 || epoch == s.token.Epoch)
}
