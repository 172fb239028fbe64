package core

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/member"
	"github.com/conchhq/conch/txlog/internal/wire"
)

// question is a read that waits for the leader's word of how far the copy has to come, and then for the copy.
type question struct {
	Read

	ours        bool     // nobody reads: the machine of the node's copy wants to know how far the log is
	to          []string // the members that were asked
	next        uint64   // whom it asks while nobody is known to lead
	came, asked time.Duration
	index       uint64
	said        bool // the index is there
	full        bool // the leader had no room for it when it was asked last
	turns       int  // how often one has named another, since it was asked last
}

const (
	askAgain = 5 * Round  // before a leader is asked again
	patience = 50 * Round // before a read is given up
)

// read asks for a linearizable read. The leader asks a majority; another node asks the leader.
func (c *Core) read(in Read) {
	c.pose(&question{Read: in, came: c.now})
}

func (c *Core) pose(q *question) {
	switch {
	case c.leads && c.crowds(c.set.Self):
		c.queue(q)
	case c.leads:
		c.member(member.Read{Ticket: c.newTicket(asker{user: q.Ticket, node: c.set.Self, read: q})})
	default:
		c.ticket++
		c.remote[c.ticket] = q
		c.inquire(c.ticket, c.leader)
	}
}

// queue has a read of this node's users wait for room, for a round at least.
func (c *Core) queue(q *question) {
	c.ticket++
	c.remote[c.ticket] = q
	q.asked, q.full = c.now, true
}

// ends ends a read.
func (c *Core) ends(q *question, a txlog.Answer, err error) {
	switch {
	case !q.ours:
		c.do(TicketEnded{Ticket: q.Ticket, Answer: a, Err: err})
	case err == nil:
		c.follower(follower.Confirmed{Since: q.came, Index: a.Index})
	}
}

// expired says what a read has waited for.
func (q *question) expired() error {
	switch {
	case q.said:
		return ErrLags
	case q.full:
		return ErrManyReads
	}
	return member.ErrUnconfirmed
}

// repose asks the new leader what the last leader has not confirmed. If that was this node, no majority answers it any more.
func (c *Core) repose(led bool) {
	var own []*question
	for _, ticket := range slices.Sorted(maps.Keys(c.tickets)) {
		if who := c.tickets[ticket]; led && (who.read != nil || who.serial != 0) {
			c.forget(ticket)
			c.member(member.Gone{Ticket: ticket})
			if who.read == nil {
				c.reply(who, txlog.Answer{}, txlog.NotLeaderError{Leader: c.leader, Term: c.term})
			} else {
				own = append(own, who.read)
			}
		}
	}
	for _, q := range own {
		c.pose(q)
	}
	for _, serial := range slices.Sorted(maps.Keys(c.remote)) {
		if q := c.remote[serial]; !q.said && q.asked < c.now && c.leader != "" && !c.leads {
			c.inquire(serial, c.leader)
		}
	}
}

// inquire asks a member, or the next other one if this name is none.
func (c *Core) inquire(serial uint64, to string) {
	q := c.remote[serial]
	q.asked, q.full = c.now, false
	for range c.members {
		if _, is := txlog.FindMember(c.members, to); is && to != c.set.Self {
			break
		}
		to = c.members[(serial+q.next)%uint64(len(c.members))].Name
		q.next++
	}
	if to == c.set.Self {
		return
	}
	if !slices.Contains(q.to, to) {
		q.to = append(q.to, to)
	}
	c.send(to, wire.Confirm{Serial: serial ^ c.salt})
}

// confirm says to another node up to where a read must have come, if this one leads.
func (c *Core) confirm(from string, serial uint64) {
	if !c.leads {
		c.send(from, wire.Confirmed{Serial: serial, Err: txlog.NotLeaderError{Leader: c.leader, Term: c.term}})
		return
	}
	if c.crowds(from) {
		c.send(from, wire.Confirmed{Serial: serial, Err: txlog.ErrTooMany})
		return
	}
	c.member(member.Read{Ticket: c.newTicket(asker{node: from, serial: serial})})
}

// confirmed takes what a member has said that was asked. One that does not lead may know who does. For a word that denies what another member has
// signed it must be the leader, as far as is known here.
func (c *Core) confirmed(from string, m wire.Confirmed) {
	serial := m.Serial ^ c.salt
	q := c.remote[serial]
	if q == nil || q.said || !slices.Contains(q.to, from) || q.ours && m.Err == nil && from != c.leader {
		return
	}
	var other txlog.NotLeaderError
	switch {
	case errors.As(m.Err, &other) && other.Leader != "" && q.turns < 3: // they may name each other
		q.turns++
		c.inquire(serial, other.Leader)
	case errors.Is(m.Err, txlog.ErrTooMany): // it is asked again
		q.full = true
	case m.Err == nil:
		q.index, q.said = m.Index, true
		if m.Index > c.copy.Position().Index {
			c.follower(follower.News{})
		}
		c.serve()
	}
}

// wait asks again for the reads that have no answer, and gives those up that have waited too long.
func (c *Core) wait() {
	for _, serial := range slices.Sorted(maps.Keys(c.remote)) {
		switch q := c.remote[serial]; {
		case c.now-q.came >= patience:
			delete(c.remote, serial)
			c.ends(q, txlog.Answer{}, q.expired())
		case !q.said && c.leads:
			delete(c.remote, serial)
			c.pose(q)
		case !q.said && c.now-q.asked >= askAgain:
			q.turns = 0
			c.inquire(serial, c.leader)
		}
	}
}

// serve answers the reads for which the copy has come far enough.
func (c *Core) serve() {
	for _, serial := range slices.Sorted(maps.Keys(c.remote)) {
		q, at := c.remote[serial], c.copy.Position()
		if c.blank || !q.said || at.Index < q.index {
			continue
		}
		delete(c.remote, serial)
		c.ends(q, txlog.Answer{Index: at.Index, Hash: at.Hash}, nil)
	}
}
