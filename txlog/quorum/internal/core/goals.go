package core

import (
	"errors"
	"maps"
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/courier"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/member"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
	"github.com/conchhq/conch/txlog/store"
)

// receive takes what another node says.
func (c *Core) receive(in Received) {
	switch m := in.Body.(type) {
	case wire.Quorum:
		c.counsel(in.From, m.Bytes)
	case follower.Pull:
		c.follower(follower.Asked{From: in.From, Pull: m})
	case follower.History:
		c.follower(follower.HistoryCame{From: in.From, History: m})
	case follower.Want:
		c.follower(follower.Wanted{From: in.From, Want: m})
	case follower.Piece:
		c.follower(follower.Received{From: in.From, Piece: m})
	case wire.GoalSent:
		c.goal(in.From, m)
	case wire.GoalDone:
		c.courier(courier.LeaderSaid{Try: m.Try ^ c.salt, From: in.From, Answer: m.Answer, Err: m.Err})
	case wire.Confirm:
		c.confirm(in.From, m.Serial)
	case wire.Confirmed:
		c.confirmed(in.From, m)
	case wire.Admit:
		c.admit(in.From, m)
	case wire.Twin:
		c.twins(in.From, m)
	}
}

// counsel takes a message between members. The first one from a member to this store makes one of a node that was none: it is
// about to become one. While a change goes on, one who leaves may say it. What is for a store that this node has lost, or from one of
// which its copy does not know, has to wait: as a member that nobody knows it would not follow.
func (c *Core) counsel(from string, message []byte) {
	if c.q != nil {
		c.request(majority.Received{From: from, Bytes: message})
		return
	}
	sender, to, readable := majority.Ends(c.copy.Position().Log, message)
	sent := func(of txlog.Member) bool { return of.Name == from && of.Store == sender }
	if !readable || !slices.ContainsFunc(c.members, sent) && !slices.ContainsFunc(c.before, sent) || to != c.store || c.blank || len(c.loads) > 0 {
		return
	}
	c.load(func(h Has) {
		if c.q != nil {
			return
		}
		switch err := c.decides(h); {
		case errors.Is(err, store.ErrDamaged): // it would be so at the next message, too
			c.lose(err)
			return
		case err != nil:
			c.restart(err)
			return
		}
		c.follower(follower.Yield{})
		c.request(majority.Received{From: from, Bytes: message})
		c.suggested(c.hint) // gossip says it when it changes alone
	})
}

// courier has the machine of goals take an input, and does what it says.
func (c *Core) courier(in courier.Input) {
	if c.over {
		return
	}
	for _, a := range c.c.Step(c.now, in) {
		if c.over {
			return
		}
		switch a := a.(type) {
		case courier.Send:
			goal := wire.GoalSent{Try: a.Try, Goal: a.Goal}
			if a.To == c.set.Self {
				c.goal(a.To, goal)
			} else {
				goal.Try ^= c.salt
				c.send(a.To, goal)
			}
		case courier.Ask:
			c.follower(follower.News{})
		case courier.Deliver:
			c.do(TicketEnded(a))
		case courier.Changed:
			c.tell(Waits(a))
		case courier.TimedOut:
			c.tell(TimedOut(a))
		}
	}
}

// goal takes a goal as a member.
func (c *Core) goal(from string, g wire.GoalSent) {
	who := asker{node: from, try: g.Try}
	if c.m == nil {
		c.reply(who, txlog.Answer{}, txlog.NotLeaderError{Leader: c.leader, Term: c.term})
		return
	}
	if who.early = !c.leads; c.bars(from) {
		c.bar(who)
		return
	}
	if c.crowds(from) {
		c.reply(who, txlog.Answer{}, txlog.ErrTooMany)
		return
	}
	c.member(member.Execute{Ticket: c.newTicket(who), Goal: g.Goal})
}

// known looks a goal up in the node's own copy.
func (c *Core) known(goalID string, goal []byte, since uint64) (txlog.Result, bool, error) {
	return c.copy.Admit(goalID, goal, since)
}

// newTicket names an asker of the member machine.
func (c *Core) newTicket(of asker) uint64 {
	c.ticket++
	c.tickets[c.ticket] = of
	c.crowd[of.node]++
	return c.ticket
}

// forget forgets an asker of the member machine.
func (c *Core) forget(ticket uint64) {
	node := c.tickets[ticket].node
	delete(c.tickets, ticket)
	if c.crowd[node]--; c.crowd[node] <= 0 {
		delete(c.crowd, node)
	}
}

const (
	roomy = 500 // askers that wait here before a node's share counts; a member has room for 1,000 goals, and as many reads
	share = 125 // of them
	own   = 750 // of them, for the goals of this node's users
)

// crowds reports whether a node has its share of what waits here already: the room is there for all. The users of this node have more of it,
// and not all: those of the others would have none as long as they do not stop.
func (c *Core) crowds(node string) bool {
	most := share
	if node == c.set.Self {
		most = own
	}
	return len(c.tickets) >= roomy && c.crowd[node] >= most
}

// barEarly refuses the goals that have waited for this node to lead, which does so now.
func (c *Core) barEarly() {
	for _, ticket := range slices.Sorted(maps.Keys(c.tickets)) {
		if who := c.tickets[ticket]; who.early && c.bars(who.node) {
			c.forget(ticket)
			c.member(member.Gone{Ticket: ticket})
			c.bar(who)
		}
	}
}

func (c *Core) bar(who asker) {
	c.tell(Refused{From: who.node, Why: txlog.ErrBarred})
	c.reply(who, txlog.Answer{}, txlog.ErrBarred)
}

// bars reports whether this node leads, and does not take the goals of another one. Another leader may take them.
func (c *Core) bars(node string) bool {
	if !c.leads || c.set.Submits == nil || node == c.set.Self || c.set.Submits(node) {
		return false
	}
	_, is := txlog.FindMember(c.members, node)
	return !is
}

// answer ends a ticket of the member machine.
func (c *Core) answer(a member.Reply) {
	who, is := c.tickets[a.Ticket]
	if !is {
		return
	}
	c.forget(a.Ticket)
	switch {
	case who.read == nil:
		c.reply(who, a.Answer, a.Err)
	case errors.Is(a.Err, txlog.ErrTooMany):
		c.queue(who.read)
	default:
		c.ends(who.read, a.Answer, a.Err)
	}
}

func (c *Core) reply(who asker, a txlog.Answer, err error) {
	switch {
	case who.user != 0:
		c.do(TicketEnded{Ticket: who.user, Answer: a, Err: err})
	case who.try != 0 && who.node == c.set.Self:
		c.courier(courier.LeaderSaid{Try: who.try, From: who.node, Answer: a, Err: err})
	case who.try != 0:
		c.send(who.node, wire.GoalDone{Try: who.try, Answer: a, Err: err})
	case who.node != "":
		c.send(who.node, wire.Confirmed{Serial: who.serial, Index: a.Index, Err: err})
	}
}

// gone forgets an asker.
func (c *Core) gone(ticket uint64) {
	c.courier(courier.Gone{Ticket: ticket})
	for t, who := range c.tickets {
		if who.user == ticket {
			c.forget(t)
			c.member(member.Gone{Ticket: t})
		}
	}
	for serial, q := range c.remote {
		if q.Ticket == ticket {
			delete(c.remote, serial)
		}
	}
}
