package keeper

import (
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

// Machine decides when a command is started, asked to end, and killed. It is
// pure: an input and the time go in, actions come out. Its rules:
//
//   - the command starts only under a deadline that leaves time to end it;
//   - without a later deadline, the command is asked to end Grace before its deadline,
//     and killed half of Grace before it;
//   - an end is never taken back, whatever deadline comes; but a command that conch
//     asked to end has its full time while deadlines come;
//   - whether conch or the command itself is gone, the end is an empty tree.
type Machine struct {
	set      Settings
	state    state
	deadline fence.Instant
	endBy    fence.Instant // after End: when the command's time is over; 0: no End was sent
	killAt   fence.Instant // when the killing begins
	sweepAt  fence.Instant // when to sweep the tree again; 0: no sweep is due
	pauses   pause.Growing // between two sweeps that kill
	sweeps   int
	cause    Cause
	overdue  bool // Overdue was reported
	out      []Action
}

// Settings are the part of a Config that the machine needs.
type Settings struct {
	// Grace is how long before the deadline the command is asked to end. The command has
	// half of it to end; the other half is for killing and reaping.
	Grace time.Duration
}

type state uint8

const (
	idle     state = iota // no deadline yet that leaves enough time
	running               // the command runs
	ending                // the command was asked to end, or its main process has ended
	freezing              // the rest of the tree is being stopped
	killing               // the rest of the tree is being killed
	over
)

// A tree is frozen before it is killed, so that it ends at one moment. A tree that spawns faster
// than it is stopped is killed unfrozen. The pause between two sweeps that kill grows, since nothing
// hastens a process in an uninterruptible sleep.
const (
	freezeRounds      = 8
	firstSweepPause   = time.Millisecond
	longestSweepPause = 32 * time.Millisecond
)

// NewMachine returns a machine that waits for a deadline.
func NewMachine(s Settings) *Machine {
	return &Machine{set: s, pauses: pause.Growing{First: firstSweepPause, Most: longestSweepPause}}
}

// Step takes one input at the time now and returns what to do, in order.
func (m *Machine) Step(now fence.Instant, in Input) []Action {
	m.out = nil
	if m.state == over {
		return nil
	}
	switch in := in.(type) {
	case Deadline:
		if m.extend(now, in.At); m.state == running {
			return m.out // if it has come too late, a later one may be right behind it: a Tick decides
		}
	case Signal:
		m.forward(in)
	case End:
		m.end(Ended, now.Add(in.Within))
	case Kill:
		m.kill(now, Killed)
	case ConchGone:
		m.kill(now, NoConch)
	case Started:
		m.do(Tell{Report{Kind: Running, PID: in.PID}})
	case Failed:
		m.do(Tell{Report{Kind: Unstarted, Error: in.Why}})
		m.quit()
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

// extend takes a new deadline. The first that is more than Grace away starts the command.
func (m *Machine) extend(now, at fence.Instant) {
	m.deadline = max(m.deadline, at)
	if m.state == idle && now < m.askAt() {
		m.state = running
		m.do(Start{})
	}
	if m.state == ending && m.endBy != 0 {
		m.killAt = min(m.endBy, m.deadline.Add(-m.set.Grace/2))
	}
}

// askAt returns when the command is asked to end unless a later deadline comes.
func (m *Machine) askAt() fence.Instant { return m.deadline.Add(-m.set.Grace) }

// forward passes a signal on. SIGINT or SIGTERM before the start means that nothing is started.
func (m *Machine) forward(s Signal) {
	switch {
	case m.state == running || m.state == ending:
		m.do(Send(s))
	case m.state == idle && (s.Number == interrupt || s.Number == terminate):
		m.quit()
	}
}

// end asks the command to end. It is killed at by or half of Grace before the deadline,
// whichever comes first.
func (m *Machine) end(why Cause, by fence.Instant) {
	switch m.state {
	case idle:
		m.quit()
	case running:
		m.state, m.cause = ending, why
		m.killAt = min(by, m.deadline.Add(-m.set.Grace/2))
		if why == Ended {
			m.endBy = by
		}
		m.do(Send{Number: terminate})
	case ending:
		m.killAt = min(m.killAt, by)
		m.endBy = min(m.endBy, by) // stays 0 if the end did not begin with End
	case freezing, killing, over:
	}
}

// kill kills the tree without asking it to end.
func (m *Machine) kill(now fence.Instant, why Cause) {
	switch m.state {
	case idle:
		m.quit()
	case running, ending:
		if m.cause == "" {
			m.cause = why
		}
		m.killAt, m.endBy = now, 0
		m.state = ending
	case freezing, killing, over:
	}
}

// exited handles the end of the command's main process. The rest of the tree has half of Grace to end.
func (m *Machine) exited(now fence.Instant, in Exited) {
	m.do(Tell{Report{Kind: MainExited, Code: in.Code, Signal: in.Signal, Cause: m.cause}})
	if m.state == running {
		m.end(Itself, now.Add(m.set.Grace/2))
	}
}

// emptied handles the news that no descendant is left, which counts only after the start.
func (m *Machine) emptied() {
	if m.state != idle {
		m.quit()
	}
}

func (m *Machine) quit() {
	m.state = over
	m.do(Tell{Report{Kind: Empty}})
	m.do(Quit{})
}

// swept handles the end of one sweep, which met fresh descendants for the first time.
func (m *Machine) swept(now fence.Instant, fresh int) {
	m.sweeps++
	switch {
	case m.state == freezing && fresh > 0 && m.sweeps < freezeRounds:
		m.do(Freeze{})
	case m.state == freezing:
		m.state = killing
		m.do(KillAll{})
	case m.state == killing && fresh > 0:
		m.pauses.Reset()
		m.do(KillAll{}) // the tree spawns: no pause
	case m.state == killing:
		m.sweepAt = now.Add(m.pauses.Next())
	}
}

// Late reports whether a Tick would end the command for want of a later deadline.
func (m *Machine) Late(now fence.Instant) bool { return m.state == running && now >= m.askAt() }

// pass does what is due by now.
func (m *Machine) pass(now fence.Instant) {
	if m.Late(now) {
		m.end(Late, m.deadline)
	}
	if m.state == ending && now >= m.killAt {
		m.state = freezing
		m.do(Freeze{})
	}
	if m.state == killing && m.sweepAt != 0 && now >= m.sweepAt {
		m.sweepAt = 0
		m.do(KillAll{})
	}
	if (m.state == freezing || m.state == killing) && now >= m.deadline && !m.overdue {
		m.overdue = true
		m.do(Tell{Report{Kind: Overdue}})
	}
}

// Next returns when Step must be called with a Tick if nothing else happens first; 0 means never.
func (m *Machine) Next() fence.Instant {
	switch m.state {
	case running:
		return m.askAt()
	case ending:
		return m.killAt
	case killing:
		return m.sweepAt
	case idle, freezing, over:
	}
	return 0
}
