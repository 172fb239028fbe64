package core

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/courier"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/member"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
	"github.com/conchhq/conch/txlog/store"
)

// member has the member machine take an input, and does what it says.
func (c *Core) member(in member.Input) {
	if c.m == nil || c.over {
		return
	}
	for _, a := range c.m.Step(c.now, in) {
		if c.over {
			return
		}
		c.perform(a)
	}
}

func (c *Core) perform(a member.Action) {
	switch a := a.(type) {
	case member.Campaign:
		c.request(majority.Campaign{})
	case member.Append:
		c.request(majority.Append{Record: a.Record})
	case member.Confirm:
		c.request(majority.Confirm{Read: a.Read})
	case member.Applied:
		c.pass(a.Records)
	case member.Reply:
		c.answer(a)
	case member.Perform:
		c.try++
		c.do(Perform{Key: a.Key, Try: c.try, Effect: a.Effect})
	case member.Say:
		// Of a head that was heard all nodes hear. One of what is not applied here may be a lie, which covers nothing.
		c.say(a.Head, c.f.Snapshot().Covered < a.Head.Index)
	case member.Keep:
		c.keep(a)
	case member.Rebuild:
		if a.Again {
			c.lose(a.Why)
			return
		}
		c.tell(Rebuilt{Why: a.Why})
		c.rebuild(func(Has) {})
	case member.Quarantine:
		c.giveUp(a.Why)
	}
}

// ended takes the word that an effect is performed no more. The door is looked at first: as long as it is shut, nothing begins.
// An earlier core, or one that the member machine knows to have ended, may have asked for it: the newest one may go on.
func (c *Core) ended(in Ended) {
	if in.Try == c.try {
		c.doorMoves()
		c.member(member.Ended{Key: in.Key})
	}
}

// applied passes on what the copy has taken over.
func (c *Core) applied(records []txlog.Record) {
	for len(records) > 0 && records[0].Index <= c.told {
		records = records[1:] // they came another way before
	}
	if len(records) == 0 {
		return
	}
	last := records[len(records)-1]
	c.told = last.Index
	c.tell(Applied{Records: records})
	for _, r := range records {
		c.changed = r.Kind.Changing(c.changed)
		c.courier(courier.Applied{Record: r})
		if r.Kind == txlog.Changed {
			c.decide(r.Members, r.Index)
		}
	}
	c.serve()
	c.namesLeader(last)
}

// say signs a head and stores it, and may have everybody told.
func (c *Core) say(h txlog.Head, publish bool) {
	h.Member = c.set.Self
	h = h.Sign(c.set.Key)
	c.follower(follower.Signed{Head: h})
	if publish {
		c.do(Publish{Head: h})
	}
	if h.Index <= c.last && h.Index > 0 && h.Index >= c.floor {
		c.write(Write{Step: &store.Step{Heads: []txlog.Head{h}, Lazy: true}}, func() {})
	}
}

// keep has a snapshot of the member's copy stored.
func (c *Core) keep(a member.Keep) {
	h := txlog.Head{Position: a.Photo.Of.Position(), State: a.Photo.Of.State, Member: c.set.Self}
	c.do(Snapshot{Head: h.Sign(c.set.Key), Photo: a.Photo})
}
