package core

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/store"
)

// follower has the machine of the node's copy take an input, and does what it says.
func (c *Core) follower(in follower.Input) {
	if c.over {
		return
	}
	for _, a := range c.f.Step(c.now, in) {
		if c.over {
			return
		}
		c.follow(a)
	}
}

func (c *Core) follow(a follower.Action) {
	switch a := a.(type) {
	case follower.Ask:
		c.send(a.To, a.Pull)
	case follower.Give:
		if a.From == 0 {
			c.out.Gives = append(c.out.Gives, Give(a))
		} else {
			c.do(Give(a))
		}
	case follower.AskPiece:
		c.send(a.To, a.Want)
	case follower.GivePiece:
		c.do(GivePiece(a))
	case follower.Apply:
		c.takeOver(a)
	case follower.Adopt:
		c.adopt(a)
	case follower.Keep:
		c.do(Snapshot(a))
	case follower.KeepBridge:
		c.write(Write{Bridge: &a.Bridge}, func() {})
	case follower.Sign:
		c.say(a.Head, true)
	case follower.Evidence:
		c.write(Write{Fork: &a}, func() {})
		c.tell(Forked(a))
	case follower.Confirm:
		c.pose(&question{came: c.now, ours: true})
	case follower.Doubted:
		c.write(Write{Denied: &a.Head}, func() {})
		c.tell(Doubted(a.Doubt))
	case follower.Parked:
		c.tell(Parked(a))
	case follower.Spoiled:
		c.tell(Rebuilt{Why: a.Why})
		c.refollow()
	case follower.Refused:
		c.tell(Refused(a))
	}
}

// takeOver stores what the follower's machine has applied.
func (c *Core) takeOver(a follower.Apply) {
	step := store.Step{Heads: []txlog.Head{a.Head}}
	for _, r := range a.Records {
		if r.Index > c.last {
			step.Records = append(step.Records, r)
			c.last = r.Index
		}
	}
	c.write(Write{Step: &step}, func() {
		c.applied(a.Records)
		c.caughtUp()
	})
}

// adopt stores a snapshot that is ahead of what is here.
func (c *Core) adopt(a follower.Adopt) {
	at := a.Offer.Head.Position
	c.last, c.floor, c.blank = at.Index, at.Index, false
	if c.q == nil {
		c.copy = a.Base
	}
	c.write(Write{Adopt: &Adopted{At: at, Snapshot: a.Snapshot, Offer: a.Offer}}, func() {
		c.told = at.Index
		c.decided(a.Base)
		if last, is := a.Base.Last(); is {
			c.namesLeader(last)
		}
		c.tell(Fetched{Index: at.Index})
		c.serve()
		c.caughtUp()
	})
}

// refollow gives the follower's machine a copy that was made anew from the store.
func (c *Core) refollow() {
	c.load(func(h Has) {
		if c.q == nil {
			c.copy = h.Copy
		}
		c.follower(follower.Follow{Base: h.Copy})
	})
}
