package host

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/courier"
	"github.com/conchhq/conch/txlog/follower"
	"github.com/conchhq/conch/txlog/member"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/wire"
)

// request asks the authority for something, once what is at hand is done.
func (c *Core) request(in quorum.Input) {
	if c.q != nil {
		c.requests = append(c.requests, in)
	}
}

// tellSaid passes on what the authority has said, now that it is kept.
func (c *Core) tellSaid() {
	out := c.said
	if c.said = nil; out == nil {
		return
	}
	for _, m := range out.Messages {
		c.send(m.To, wire.Quorum{Bytes: m.Bytes})
	}
	if out.Door != nil && *out.Door != c.door {
		c.door = *out.Door
		c.do(Doors{Door: c.door})
		c.doorMoves()
	}
	for _, fact := range out.Facts {
		if !c.over {
			c.learn(fact)
		}
	}
	for _, r := range out.Refused {
		c.tell(Refused{From: r.From, Why: r.Why})
		if errors.Is(r.Why, quorum.ErrLost) && !c.over {
			c.lose(r.Why)
		}
	}
	if out.Behind != nil && !c.over {
		c.isBehind(*out.Behind)
	}
	if out.Failed != nil && !c.over {
		c.restart(out.Failed)
	}
}

// learn takes a fact of the authority.
func (c *Core) learn(fact txlog.Fact) {
	switch f := fact.(type) {
	case txlog.Leads:
		c.leadership(f.Term, c.set.Self, true)
	case txlog.Deposed:
		c.leadership(f.Term, f.Leader, false)
	}
	c.member(member.Heard{Fact: fact})
}

func (c *Core) leadership(term uint64, leader string, self bool) {
	if term == c.term && leader == c.leader && self == c.leads {
		return
	}
	c.term, c.leader, c.leads = term, leader, self
	if leader != "" {
		c.found()
	}
	c.courier(courier.Leader{Name: leader, Term: term})
	c.tell(Leads{Term: term, Leader: leader, Self: self})
}

// suggested takes whom gossip names. It decides nothing.
func (c *Core) suggested(name string) {
	c.request(quorum.Suggested{Name: name})
	c.member(member.Suggested{Name: name})
	if c.q == nil && c.leader == "" {
		c.courier(courier.Leader{Name: name})
	}
}

// doorMoves tells the member machine whether it may act outside.
func (c *Core) doorMoves() {
	if open := c.door.Open(c.now); open != c.open {
		c.open = open
		c.member(member.Door{Open: open})
	}
}

// isBehind has the copy come as far as the authority needs it: for that it follows.
func (c *Core) isBehind(at txlog.Position) {
	first := c.behind == nil
	c.behind = &at
	from := c.leader
	if !first {
		c.follower(follower.Behind{Index: at.Index, From: from})
		c.caughtUp()
		return
	}
	c.tell(FellBehind{Upto: at.Index})
	c.load(func(h Has) {
		c.follower(follower.Follow{Base: h.Copy})
		c.follower(follower.Behind{Index: at.Index, From: from})
		c.caughtUp()
	})
}

// caughtUp tells the authority that the copy has come to where it must be.
func (c *Core) caughtUp() {
	if c.behind == nil || c.q == nil || c.last < c.behind.Index || len(c.loads) > 0 {
		return
	}
	said := *c.behind
	c.behind = nil
	c.follower(follower.Yield{})
	c.rebuild(func(h Has) {
		at, is := h.At(said.Index)
		if !is { // a snapshot has passed over it: the leader may need this member to come further, and is believed
			at = said
		}
		c.request(quorum.Reached{At: at})
	})
}

// rebuild gives the member machine copies that were made anew from the store.
func (c *Core) rebuild(then func(Has)) {
	c.load(func(h Has) {
		c.copy = h.Copy
		c.missed(h)
		c.member(member.Rebuilt{Base: h.Copy, Tail: h.Tail})
		then(h)
	})
}

// rounds between two looks at whether this node belongs to the members.
const looks = 10

// quits is for how many looks a store that is no member runs its authority, and hears no leader. While a change goes on, the
// leader needs those that leave as well, and speaks to them; what they have left too soon they join again.
const quits = 2

// belongs makes a follower of a node that is no member any more, and has a member ask to be admitted whose store is lost.
func (c *Core) belongs() {
	if c.rounds%looks != 0 || c.over {
		return
	}
	if m, is := txlog.FindMember(c.members, c.set.Self); is && m.Store != c.store {
		for _, of := range c.members {
			if of.Name != c.set.Self {
				c.send(of.Name, wire.Admit{Store: c.store, Key: c.key})
			}
		}
	}
	c.seek()
	switch {
	case c.q == nil:
	case c.mine() || c.leads || c.q.Snapshot().Leader != "":
		c.outside = 0
	default:
		if c.outside++; c.outside >= quits && len(c.loads) == 0 && c.said == nil {
			c.restart(errOutside)
		}
	}
}

var errOutside = fmt.Errorf("this store is no member's any more")

// admit proposes another store of a member, if this node leads. Its name is proven, and its key is the one of its entry.
func (c *Core) admit(name string, a wire.Admit) {
	if !c.leads || c.m == nil {
		return
	}
	all := append([]txlog.Member(nil), c.members...)
	for i := range all {
		if all[i].Name == name && all[i].Key == a.Key && all[i].Store != a.Store {
			all[i].Store = a.Store
			if _, err := quorum.Check(all); err != nil {
				c.tell(Refused{From: name, Why: err})
				return
			}
			c.member(member.Change{Ticket: c.newTicket(asker{}), Members: all})
			return
		}
	}
}
