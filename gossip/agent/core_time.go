package agent

import (
	"slices"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/spray"
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

// passes lets time pass for the machines for which it is time.
func (c *Core) passes() {
	if c.began && c.now >= c.tickAt {
		c.payBack()
		c.suggest(gossip.Tick{})
		c.tickAt = c.nextTick()
	}
	if c.now >= c.turnAt {
		c.turns()
		c.turnAt = c.now + c.jittered(c.untilTurn())
	}
}

// pace returns the time between two ticks: a quarter of a round, or a whole one for a node that nowhere is a candidate. Most
// nodes of a large crowd are not, and four ticks a round would be half of what they cost.
func (c *Core) pace() time.Duration {
	for _, n := range c.set.Gossip.Namespaces {
		if len(n.Electors) == 0 || slices.Contains(n.Electors, c.set.Gossip.Self) || n.Policy == gossip.Paper {
			return c.set.Gossip.Round / 4
		}
	}
	return c.set.Gossip.Round
}

// nextTick returns when time is to pass next. A node of the crowd need not look before there is something to do: to wake up is most of what
// it costs at rest. It looks no more often than each round.
func (c *Core) nextTick() time.Duration {
	if pace := c.pace(); pace < c.set.Gossip.Round {
		return c.now + c.jittered(pace)
	}
	return max(c.gossip.Due(), c.now+c.set.Gossip.Round)
}

// sooner brings the tick of a node of the crowd forward, if what it has heard has it do something before that. A connection
// alone does not: a new peer is asked at once, and a node that has none looks each ten rounds.
func (c *Core) sooner() {
	if c.pace() >= c.set.Gossip.Round {
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

// turns lets a second pass for the overlay; or, in the first one, a part of it if this node finds nobody.
func (c *Core) turns() {
	if c.soon--; c.soon == soon || c.soon <= 0 || !c.busy() {
		c.turn()
	}
}

func (c *Core) turn() {
	c.feed(spray.Tick{})
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

// busy reports whether this node has a connection, or asks for one.
func (c *Core) busy() bool {
	for _, l := range c.links {
		if l.up || l.dialling {
			return true
		}
	}
	return false
}
