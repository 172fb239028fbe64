package host

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/courier"
	"github.com/conchhq/conch/txlog/follower"
	"github.com/conchhq/conch/txlog/member"
	"github.com/conchhq/conch/txlog/quorum"
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
	Member  *member.Status // nil: this node decides nothing
	Quorum  *quorum.Status // with Member
}

// Status returns what the node knew after the last step of its core, once what the copy had then was on the disk. It must not be
// changed. It waits for nothing.
func (h *Host) Status() Status { return *h.status.Load() }

// Position returns the place of the copy that is here. Its entries are on the disk. A member's word that they are committed may still be in
// memory (package host, Order): a member that is killed may begin from an earlier place, and comes back to this one.
func (h *Host) Position() txlog.Position { return h.Status().Position }

// publish lets others see what the core knows. A copy that is made anew may be ahead of the disk: it is where it was.
func (h *Host) publish(core *Core, anew bool) {
	now := core.Status()
	if anew {
		now.Position = h.status.Load().Position
	}
	h.status.Store(&now)
}
