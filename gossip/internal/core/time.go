package core

import (
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
)

// second is the time between two ticks of the overlay, but for the jitter.
const second = time.Second

// soon is in how many parts the first second is divided: a node that finds nobody tries again after each. Where a site starts,
// its contacts may be there a moment later.
const soon = 5

// Due returns when a Tick has something to do. Other inputs may bring that forward.
func (c *Core) Due() time.Duration {
	if !c.began {
		return c.turnAt
	}
	return min(c.tickAt, c.turnAt)
}

// passTime lets time pass for the machines for which it is time.
func (c *Core) passTime() {
	if c.began && c.now >= c.tickAt {
		c.returnOwed()
		c.feedHint(hint.Tick{})
		c.tickAt = c.nextTick()
	}
	if c.now >= c.turnAt {
		c.turnWhenDue()
		c.turnAt = c.now + c.jittered(c.untilTurn())
	}
}

// tickPace returns the time between two ticks: a quarter of a round, or a whole one for a node that nowhere is a candidate. Most
// nodes of a large crowd are not, and four ticks a round would be half of what they cost.
func (c *Core) tickPace() time.Duration {
	for _, n := range c.set.Hint.Namespaces {
		if len(n.Electors) == 0 || slices.Contains(n.Electors, c.set.Hint.Self) || n.Policy == hint.Paper {
			return c.set.Hint.Round / 4
		}
	}
	return c.set.Hint.Round
}

// nextTick returns when time is to pass next. A node of the crowd need not look before there is something to do: to wake up is most of what
// it costs at rest. It looks no more often than each round.
func (c *Core) nextTick() time.Duration {
	if pace := c.tickPace(); pace < c.set.Hint.Round {
		return c.now + c.jittered(pace)
	}
	return max(c.hint.Due(), c.now+c.set.Hint.Round)
}

// tickSooner brings the tick of a node of the crowd forward, if what it has heard has it do something before that. A connection
// alone does not: a new peer is asked at once, and a node that has none looks each ten rounds.
func (c *Core) tickSooner() {
	if c.tickPace() >= c.set.Hint.Round {
		c.tickAt = min(c.tickAt, c.nextTick())
	}
}

// jittered returns a time that differs by a fifth at most, so that nodes do not fall into step.
func (c *Core) jittered(d time.Duration) time.Duration {
	fifth := d / 5
	if fifth <= 0 {
		return d
	}
	return d - fifth + time.Duration(c.chance.Below(int(2*fifth+1)))
}

// turnWhenDue lets a second pass for the overlay; or, in the first one, a part of it if this node finds nobody.
func (c *Core) turnWhenDue() {
	if c.soon--; c.soon == soon || c.soon <= 0 || !c.hasConnection() {
		c.turnOverlay()
	}
}

func (c *Core) turnOverlay() {
	c.feedOverlay(overlay.Tick{})
	c.keepElectors()
	c.tellArcs()
}

// untilTurn is the time until then.
func (c *Core) untilTurn() time.Duration {
	if c.soon > 0 {
		return second / soon
	}
	return second
}

// hasConnection reports whether this node has a connection, or asks for one.
func (c *Core) hasConnection() bool {
	for _, l := range c.links {
		if l.up || l.dialling {
			return true
		}
	}
	return false
}
