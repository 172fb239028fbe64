package agent

import "time"

// alarm is the timer by which time passes in a core.
type alarm struct {
	*time.Timer

	at time.Duration // by the core's clock
}

func newAlarm() *alarm { return &alarm{Timer: time.NewTimer(0)} }

// again sets the alarm, after it has rung.
func (a *alarm) again(c *core) {
	a.at = c.due()
	a.Reset(a.at - c.now())
}

// sooner brings the alarm of a node of the crowd forward, if what it has heard has it do something before it rings. A connection
// alone does not: a new peer is asked at once, and the alarm of a node that has none rings each ten rounds.
func (a *alarm) sooner(c *core) {
	if c.cfg.pace() >= c.cfg.Round && c.due() < a.at {
		a.again(c)
	}
}
