package quorum

import (
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
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
	Renewed  []string
	Decides  bool   // this store is a member's
	Leads    bool   // this node does
	Leader   string // a hint; empty: nobody is known
	Term     uint64
	Pending  int // goals of this node's users that wait for their result (B21)
	Copy     Copy
	Majority *Majority // nil: this node decides nothing
}

// Copy is how far a node's copy is, and what is in its way.
type Copy struct {
	Known    uint64        // the highest index that a verified head covers, unless the leader has denied it
	Signed   uint64        // the index of the newest head that is verified
	Gap      time.Duration // for how long the next record is known of and lacks; 0: it does not
	Fetching bool          // a snapshot
	Asked    uint64        // times that other nodes were asked for records, since the copy was made
	Forks    uint64
	Fork     Forked    // the one of the lowest index that still counts; zero: none
	Doubts   []Doubted // by member
}

// Majority is what a member knows of the others.
type Majority struct {
	Committed uint64 // the index of the newest record that is
	Members   []Voter
	Advice    string // what a person is to do while the members alone cannot go on; empty: nothing
	Fork      string // so if what another member has said lately contradicts what is here
}

// Voter is what is known of a member.
type Voter struct {
	txlog.Member

	Leaving bool          // it is a member until the change that goes on has ended
	Silent  time.Duration // since it was heard; below 0: it never was
	Stored  uint64        // the entry of the members' own log up to which it has stored; known at the leader alone
}

// Status returns what the node knew after the last step of its core, once what the copy had then was on the disk. It must not be
// changed. It waits for nothing.
func (h *Host) Status() Status { return statusOf(h.status.Load()) }

func statusOf(s *core.Status) Status {
	f := s.Copy
	out := Status{
		Log: s.Log, Position: s.Position, Store: s.Store, Members: s.Members, MembersAt: s.MembersAt, Renewed: s.Renewed, Decides: s.Decides, Leads: s.Leads,
		Leader: s.Leader, Term: s.Term, Pending: s.Goals.Pending,
		Copy: Copy{Known: f.Known, Signed: f.Head.Index, Gap: f.Gap, Fetching: f.Fetching, Asked: f.Counts.Asked, Forks: f.Forks, Fork: Forked(f.Fork)},
	}
	for _, d := range f.Doubts {
		out.Copy.Doubts = append(out.Copy.Doubts, Doubted(d))
	}
	if q := s.Quorum; q != nil {
		out.Majority = &Majority{Committed: q.Committed.Index, Advice: q.Advice, Fork: q.Fork}
		for _, m := range q.Members {
			out.Majority.Members = append(out.Majority.Members, Voter{Member: m.Member, Leaving: m.Leaving, Silent: time.Duration(m.Heard) * core.Round, Stored: m.Stored})
		}
	}
	return out
}

// Position returns the place of the copy that is here. Its entries are on the disk. A member's word that they are committed may still be in
// memory (package comment, Order): a member that is killed may begin from an earlier place, and comes back to this one.
func (h *Host) Position() txlog.Position { return h.status.Load().Position }

// publish lets others see what the core knows. A copy that is made anew may be ahead of the disk: it is where it was.
func (h *Host) publish(of *core.Core, anew bool) {
	now := of.Status()
	if anew {
		now.Position = h.status.Load().Position
	}
	h.status.Store(&now)
}
