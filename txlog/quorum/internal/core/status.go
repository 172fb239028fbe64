package core

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/courier"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/member"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// Status is what a node knows of a log.
type Status struct {
	Log      txlog.ID
	Position txlog.Position // of the copy that is here
	Store    uint64
	Members  []txlog.Member
	// MembersAt is the entry as of which these are the members. The copy may have come further.
	MembersAt uint64
	// Renewed names those of them whose nodes run with other stores, as far as is known here: theirs are lost, or another process
	// has them.
	Renewed []string
	Decides bool   // this store is a member's
	Leads   bool   // this node does
	Leader  string // a hint; empty: nobody is known
	Term    uint64
	Copy    follower.Status
	Goals   courier.Status
	Member  *member.Status   // nil: this node decides nothing
	Quorum  *majority.Status // with Member
}

// Status returns what the machines know.
func (c *Core) Status() Status {
	s := Status{
		Log: c.copy.Position().Log, Position: c.copy.Position(), Store: c.store, Members: c.members, MembersAt: c.told, Decides: c.q != nil && c.mine(), Leads: c.leads,
		Leader: c.leader, Term: c.term, Copy: c.f.Snapshot(), Goals: c.c.Status(),
	}
	for _, m := range c.members {
		if c.isRenewed(m) {
			s.Renewed = append(s.Renewed, m.Name)
		}
	}
	if c.q != nil {
		m, q := c.m.Status(), c.q.Snapshot()
		s.Member, s.Quorum = &m, &q
	}
	return s
}
