package crowd

import (
	"time"

	"github.com/conchhq/conch/gossip"
)

// alarm is when a process next lets time pass: the same instants as those of an agent.
type alarm struct {
	at  time.Duration // by its own clock
	set uint64        // how often it was set; one that was set anew does not ring at the old instant
}

// crowds reports whether a process is nowhere a candidate. Such a one sleeps until there is something to do.
func (n *node) crowds() bool {
	return n.r.cfg.Electors > 0 && !n.elector && n.r.cfg.Policy != gossip.Paper
}

// ticks lets time pass, now and again and again: each quarter of a round by the process's own clock, or when it has to.
func (n *node) ticks(life int) {
	if n.lives != life || !n.up {
		return
	}
	if !n.paused {
		n.step(gossip.Tick{})
	}
	if n.crowds() {
		n.r.stats["crowd_ticks"]++
		n.again()
		return
	}
	n.r.w.After(n.clock.For(n.r.w.Between(round/4-5*time.Millisecond, round/4+5*time.Millisecond)), func() { n.ticks(life) })
}

// due is when a process of the crowd is to look again, and no sooner than in a round.
func (n *node) due() time.Duration {
	return max(n.m.Due(), time.Duration(n.clock.Read())+round)
}

// again sets the alarm of a process of the crowd. If it rings while that is frozen it is heard when it goes on.
func (n *node) again() {
	life := n.lives
	n.alarm.at = n.due()
	n.alarm.set++
	set := n.alarm.set
	n.r.w.After(n.clock.When(int64(n.alarm.at))-n.r.w.Now(), func() {
		if n.lives == life && n.alarm.set == set {
			n.does(func() { n.ticks(life) })
		}
	})
}

// sooner brings the alarm forward, if what was heard ends before it rings.
func (n *node) sooner() {
	if n.crowds() && n.up && !n.paused && n.m != nil && n.due() < n.alarm.at {
		n.again()
	}
}
