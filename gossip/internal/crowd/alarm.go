package crowd

import (
	"time"

	"github.com/conchhq/conch/gossip/internal/core"
	"github.com/conchhq/conch/gossip/internal/hint"
)

// alarm is when a process next lets time pass.
type alarm struct {
	at  time.Duration // by its own clock
	set uint64        // how often it was set; one that was set anew does not ring at the old instant
}

// crowds reports whether a process is nowhere a candidate. Such a one sleeps until there is something to do.
func (n *node) crowds() bool {
	return n.r.cfg.Electors > 0 && !n.elector && n.r.cfg.Policy != hint.Paper
}

// again sets the alarm, if the core is due at another instant than before. One that rings while the process is frozen is not heard: time
// passes for it when it goes on.
func (n *node) again() {
	due := n.core.Due()
	if due == n.alarm.at {
		return
	}
	n.alarm.at = due
	n.alarm.set++
	life, set := n.lives, n.alarm.set
	n.r.w.After(n.clock.When(int64(due))-n.r.w.Now(), func() {
		if n.lives == life && n.alarm.set == set && n.up && !n.paused {
			if n.begun && n.crowds() {
				n.r.Stats["crowd_ticks"]++
			}
			n.step(core.Tick{})
		}
	})
}
