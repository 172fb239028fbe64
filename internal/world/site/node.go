package site

import (
	"time"

	"github.com/conchhq/conch/internal/world"
)

// Node is a process on a machine. It is a story.Node.
type Node struct {
	Name  string
	Index int // in the order of the names
	Clock *world.Clock
	Wrong time.Duration // by how much its wall clock is ahead
	Life  int           // changes when it starts, and when it dies

	s          *Site
	up, stands bool
	since      time.Duration // it stands still
	waits      []func()      // what came since
}

// Runs implements story.Node.
func (n *Node) Runs() bool { return n.up }

// Stands implements story.Node.
func (n *Node) Stands() bool { return n.up && n.stands }

// Start implements story.Node.
func (n *Node) Start() { n.start(false) }

func (n *Node) start(again bool) {
	n.up, n.stands, n.waits = true, false, nil
	if n.Life++; n.Life > 1 {
		n.Tells("starts again")
	}
	n.s.wing.Starts(n, again)
}

// Kill implements story.Node.
func (n *Node) Kill() {
	if n.up {
		n.Tells("dies")
		n.Die()
	}
}

// Die ends the process, of which nobody is told.
func (n *Node) Die() {
	n.up, n.Life = false, n.Life+1
	n.s.wing.Dies(n)
}

// Freeze implements story.Node.
func (n *Node) Freeze() error {
	n.Tells("stands still")
	n.stands, n.since = true, n.s.W.Now()
	return nil
}

// Thaw implements story.Node.
func (n *Node) Thaw() {
	n.Tells("goes on")
	waits := n.waits
	n.stands, n.waits = false, nil
	for _, do := range waits {
		do()
	}
}

// Reaches reports whether a statement of it would reach the database.
func (n *Node) Reaches() bool { return !n.s.Away && !n.s.cut[n.Name] }

// Hears reports whether notifications of the database reach it.
func (n *Node) Hears() bool { return !n.s.cut[n.Name] }

// Speaks reports whether it would renew a lease.
func (n *Node) Speaks() bool {
	return n.up && (!n.stands || n.s.W.Now()-n.since < n.s.lease) && n.Reaches()
}

// Boot reads the clock by which the process waits.
func (n *Node) Boot() time.Duration { return time.Duration(n.Clock.Read()) }

// Wall reads its wall clock.
func (n *Node) Wall() time.Time { return n.s.begins.Add(n.s.W.Now() + n.Wrong) }

// Until is how long it is until an instant of the clock by which it waits.
func (n *Node) Until(boot time.Duration) time.Duration {
	return n.Clock.When(int64(boot)) - n.s.W.Now()
}

// After does something in this life of the process, as soon as it does not stand still.
func (n *Node) After(d time.Duration, do func()) {
	life := n.Life
	n.s.W.After(d, func() {
		switch {
		case n.Life != life:
		case n.stands:
			n.waits = append(n.waits, do)
		default:
			do()
		}
	})
}

// Ask sends a statement to the database, which carries it out, and hears its answer; nil: there is none, since either was lost, or the
// database does not answer. The process may stand still before either.
func (n *Node) Ask(carry func() any, answer func(any)) {
	s := n.s
	n.After(s.W.Between(0, 20*time.Millisecond), func() {
		arrives := s.Calm || !s.W.Chance(0.01)
		s.W.After(s.W.Between(0, 20*time.Millisecond), func() {
			var out any
			if arrives && n.Reaches() {
				out = carry()
			}
			if out == nil || !s.Calm && s.W.Chance(0.01) {
				n.After(10*time.Second, func() { answer(nil) })
				return
			}
			n.After(s.W.Between(0, 20*time.Millisecond), func() { answer(out) })
		})
	})
}

// Alarm is when something in a process wants the time.
type Alarm struct {
	n    *Node
	ring func()
	set  int
}

// NewAlarm returns an alarm that is not set.
func (n *Node) NewAlarm(ring func()) *Alarm { return &Alarm{n: n, ring: ring} }

// Set has it ring at an instant of the clock by which the process waits, if there is one, and not at the one before.
func (a *Alarm) Set(due time.Duration, is bool) {
	a.set++
	if set := a.set; is {
		a.n.After(a.n.Until(due), func() {
			if a.set == set {
				a.ring()
			}
		})
	}
}
