package keeper

import (
	"time"

	"github.com/conchhq/conch/fence"
)

// Machine decides when a command is started, asked to end, and killed. It is
// pure: an input and the time go in, actions come out. The rules it keeps:
//
//   - nothing is started without a deadline that leaves time to end it again;
//   - without a later deadline the command is asked to end Grace before the one
//     it has, and killed at half of that;
//   - once begun, an end is never taken back, whatever deadline comes; but a command
//     that was asked to end gets its time while deadlines come;
//   - whoever is gone, conch or the command itself, the end is an empty tree.
type Machine struct {
	set      Settings
	state    state
	deadline fence.Instant
	by       fence.Instant // Ended: how long it may take, if deadlines come
	killAt   fence.Instant // when asking has had its time
	sweepAt  fence.Instant // when to look through the tree again
	pace     time.Duration
	rounds   int
	cause    Cause
	overdue  bool // it was said
	out      []Action
}

// Settings are what the machine needs to know of a Config.
type Settings struct {
	// Grace is how long before the deadline the command is asked to end. Half of
	// it is left to the command, the other half to kill and to bury.
	Grace time.Duration
}

type state uint8

const (
	idle     state = iota // no deadline yet, or none that suffices
	running               // the command runs
	ending                // it was asked to end, or its main process has ended
	freezing              // what is left of the tree is being stopped
	killing               // and killed
	over
)

// Freezing gives all of a tree one end instead of many, which is a courtesy: who
// spawns faster than we can stop is killed without it. Between two looks at a
// tree that will not go the pause grows, since a process in an uninterruptible
// sleep ends when it ends.
const (
	freezeRounds = 8
	firstPace    = time.Millisecond
	slowestPace  = 32 * time.Millisecond
)

// NewMachine returns a machine that waits for a deadline.
func NewMachine(s Settings) *Machine { return &Machine{set: s} }

// Step takes one input at the time now and returns what to do, in order.
func (m *Machine) Step(now fence.Instant, in Input) []Action {
	m.out = nil
	if m.state == over {
		return nil
	}
	switch in := in.(type) {
	case Deadline:
		m.extend(now, in.At)
	case Signal:
		m.forward(in)
	case End:
		m.end(Ended, now.Add(in.Within))
	case Kill:
		m.kill(now, Killed)
	case Orphaned:
		m.kill(now, Lonely)
	case Started:
		m.do(Tell{Report{Kind: Running, PID: in.PID}})
	case Failed:
		m.do(Tell{Report{Kind: Unstarted, Error: in.Why}})
		m.leave()
	case Exited:
		m.exited(now, in)
	case Emptied:
		m.emptied()
	case Swept:
		m.swept(now, in.Fresh)
	case Tick:
	}
	m.pass(now)
	return m.out
}

func (m *Machine) do(a Action) { m.out = append(m.out, a) }

// extend takes a new deadline. The first that leaves more time than the end takes
// starts the command.
func (m *Machine) extend(now, at fence.Instant) {
	m.deadline = max(m.deadline, at)
	if m.state == idle && now < m.termAt() {
		m.state = running
		m.do(Start{})
	}
	if m.state == ending && m.by != 0 {
		m.killAt = min(m.by, m.deadline.Add(-m.set.Grace/2))
	}
}

func (m *Machine) termAt() fence.Instant { return m.deadline.Add(-m.set.Grace) }

// forward passes a signal on. One that asks to end is obeyed also while there is nobody
// to hear it: then nothing is started.
func (m *Machine) forward(s Signal) {
	switch {
	case m.state == running || m.state == ending:
		m.do(Send(s))
	case m.state == idle && (s.Number == interrupt || s.Number == terminate):
		m.leave()
	}
}

// end asks the command to end, by the given time or half of the grace before the
// deadline, whichever is first.
func (m *Machine) end(why Cause, by fence.Instant) {
	switch m.state {
	case idle:
		m.leave()
	case running:
		m.state, m.cause = ending, why
		m.killAt = min(by, m.deadline.Add(-m.set.Grace/2))
		if why == Ended {
			m.by = by
		}
		m.do(Send{Number: terminate})
	case ending:
		m.killAt = min(m.killAt, by)
		m.by = min(m.by, by) // 0 remains: nobody asked at first
	case freezing, killing, over:
	}
}

// kill ends the tree without asking.
func (m *Machine) kill(now fence.Instant, why Cause) {
	switch m.state {
	case idle:
		m.leave()
	case running, ending:
		if m.cause == "" {
			m.cause = why
		}
		m.killAt, m.by = now, 0
		m.state = ending
	case freezing, killing, over:
	}
}

// exited: the command's main process is gone. What it left behind gets the time
// that it would have had itself.
func (m *Machine) exited(now fence.Instant, in Exited) {
	m.do(Tell{Report{Kind: Gone, Code: in.Code, Signal: in.Signal, Cause: m.cause}})
	if m.state == running {
		m.end(Itself, now.Add(m.set.Grace/2))
	}
}

// emptied: no descendant is left. It counts only once there was one.
func (m *Machine) emptied() {
	if m.state != idle {
		m.leave()
	}
}

func (m *Machine) leave() {
	m.state = over
	m.do(Tell{Report{Kind: Empty}})
	m.do(Quit{})
}

// swept: one round over the tree is done; fresh were met for the first time.
func (m *Machine) swept(now fence.Instant, fresh int) {
	m.rounds++
	switch {
	case m.state == freezing && fresh > 0 && m.rounds < freezeRounds:
		m.do(Freeze{})
	case m.state == freezing:
		m.state = killing
		m.do(Slay{})
	case m.state == killing && fresh > 0:
		m.pace = firstPace
		m.do(Slay{}) // they spawn: no pause
	case m.state == killing:
		m.pace = max(m.pace, firstPace)
		m.sweepAt = now.Add(m.pace)
		m.pace = min(2*m.pace, slowestPace)
	}
}

// pass does what the mere passing of time asks for.
func (m *Machine) pass(now fence.Instant) {
	if m.state == running && now >= m.termAt() {
		m.end(Late, m.deadline)
	}
	if m.state == ending && now >= m.killAt {
		m.state = freezing
		m.do(Freeze{})
	}
	if m.state == killing && m.sweepAt != 0 && now >= m.sweepAt {
		m.sweepAt = 0
		m.do(Slay{})
	}
	if (m.state == freezing || m.state == killing) && now >= m.deadline && !m.overdue {
		m.overdue = true
		m.do(Tell{Report{Kind: Overdue}})
	}
}

// Next is when Step wants to be called with a Tick if nothing else happens
// before; 0 means never.
func (m *Machine) Next() fence.Instant {
	switch m.state {
	case running:
		return m.termAt()
	case ending:
		return m.killAt
	case killing:
		return m.sweepAt
	case idle, freezing, over:
	}
	return 0
}
