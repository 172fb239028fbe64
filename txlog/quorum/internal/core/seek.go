package core

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// seeks is for how many looks a member hears no leader before it follows: the members may be others by now, who do not speak
// to it, or whom it does not believe. An election has ended by then.
const seeks = 5

// seek has a member that hears no leader follow, as a node does that decides nothing: heads, and bridges over the changes that
// it has missed, say who decides. What it learns so, its authority is told (majority.Known).
func (c *Core) seek() {
	if c.q == nil || c.leader != "" {
		c.quiet = 0
		return
	}
	if c.quiet++; c.quiet < seeks || c.seeking || c.behind != nil || len(c.loads) > 0 {
		return
	}
	c.seeking = true
	c.load(func(h Has) {
		if c.seeking { // else a member leads by now
			c.follower(follower.Follow{Base: h.Copy})
			c.follower(follower.News{})
		}
	})
}

// found ends the search: a member leads. What has come meanwhile is the member's.
func (c *Core) found() {
	if !c.seeking {
		return
	}
	c.seeking = false
	if c.behind != nil {
		return // it goes on following
	}
	c.follower(follower.Yield{})
	if c.told > c.copy.Position().Index {
		c.rebuild(func(h Has) { c.request(majority.Reached{At: h.Copy.Position()}) })
		return
	}
	c.level()
}

// level has the machine of the copy go on where the member's copy is. When it began to follow, it went back to what the store called
// decided, which the member may have known earlier; what is between the two it does not hear of any more. While it follows it comes
// there itself.
func (c *Core) level() {
	if !c.seeking && c.behind == nil && c.f.Snapshot().At.Index < c.copy.Position().Index {
		c.follower(follower.Follow{Base: c.copy})
		c.follower(follower.Yield{})
	}
}

// missed passes on what is in a copy that was made anew from the store, and nobody was told of.
func (c *Core) missed(h Has) {
	c.copy = h.Copy
	at := h.Copy.Position()
	if at.Index <= c.told {
		c.level()
		return
	}
	var gap []txlog.Record
	last := txlog.Record{}
	for _, e := range h.Stored.Entries {
		r, has, err := e.Record()
		if err != nil || !has || r.Index <= c.told || r.Index > at.Index {
			continue
		}
		if len(gap) > 0 && r.Prev != last.Hash() {
			gap = nil
		}
		gap, last = append(gap, r), r
	}
	if uint64(len(gap)) == at.Index-c.told && last.Hash() == at.Hash {
		c.pass(gap)
		return
	}
	c.level()
	c.told = at.Index
	c.decided(h.Copy)
	c.tell(Fetched{Index: at.Index})
}

// pass tells everybody what a member has applied.
func (c *Core) pass(records []txlog.Record) {
	at := c.f.Snapshot().At.Index
	fresh := records
	for len(fresh) > 0 && fresh[0].Index <= at {
		fresh = fresh[1:]
	}
	switch {
	case len(fresh) == 0:
	case fresh[0].Index == at+1:
		c.follower(follower.Applied{Records: fresh})
	default:
		c.level()
	}
	c.applied(records)
}

// decided takes over the members from a copy that has come by something else than its records.
func (c *Core) decided(of *txlog.Copy) {
	c.changed = of.Changing()
	c.decide(of.Members(), of.Position().Index)
}
