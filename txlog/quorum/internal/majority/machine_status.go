package majority

import (
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"

	"github.com/conchhq/conch/txlog"
)

// Status is what a machine knows.
type Status struct {
	Term      uint64
	Leader    string // empty: nobody is known
	Leading   bool
	Member    bool           // this store is one
	Committed txlog.Position // the newest record that is
	Stored    uint64         // the index of the newest record that is stored here
	Behind    bool           // it waits for records that the leader has no entries of
	Members   []MemberStatus
	Advice    string // what a person is to do while the members alone cannot go on; empty: nothing
	Fork      string // so if what another member has said lately contradicts what is here
}

// MemberStatus is what is known of a member.
type MemberStatus struct {
	txlog.Member

	Leaving bool   // it is a member until the change that goes on has ended
	Heard   int    // rounds ago; -1: never
	Stored  uint64 // the entry of the library up to which it has stored; known at the leader alone
}

// Snapshot returns what the machine knows.
func (m *Machine) Snapshot() Status {
	s := Status{
		Term: m.term, Leader: m.names[m.leader], Leading: m.leading, Member: m.decides().has(m.cfg.Store),
		Committed: m.log.mark.At, Stored: m.log.last().at.Index, Behind: m.behind != nil,
	}
	stored := map[uint64]uint64{}
	if m.leading {
		m.node.WithProgress(func(store uint64, _ raft.ProgressType, p tracker.Progress) { stored[store] = p.Match })
	}
	seen := map[uint64]bool{}
	for i, of := range m.decides().all() {
		if seen[of.Store] {
			continue
		}
		seen[of.Store] = true
		s.Members = append(s.Members, MemberStatus{
			Member: of, Leaving: i >= len(m.log.mark.Members), Heard: m.heardOf(of), Stored: stored[of.Store],
		})
	}
	s.Advice, s.Fork = m.advice(), m.fork()
	return s
}

func (m *Machine) heardOf(of txlog.Member) int {
	if of.Store == m.cfg.Store {
		return 0
	}
	at, is := m.pace.spoke[of.Store]
	if !is {
		return -1
	}
	return int(m.pace.ticks - at)
}

// quiet is after how many rounds a member that says nothing is taken for gone, and how many campaigns come before.
const quiet, manyTries = 100, 4

// advice says what a person is to do when the members alone cannot go on.
func (m *Machine) advice() string {
	members := m.log.mark.Members
	need := txlog.Majority(members)
	switch {
	case m.removed():
		return "this store is no member any more: ask the leader to admit it anew, or take it for a follower"
	case m.leader != 0 || m.pace.tries < manyTries || !m.decides().has(m.cfg.Store):
		return ""
	}
	answer := 0
	for _, of := range members {
		if heard := m.heardOf(of); heard >= 0 && heard < quiet {
			answer++
		}
	}
	if answer >= need {
		return ""
	}
	return fmt.Sprintf("%d of %d members answer, and %d have to: start the others. If their disks are lost for good, stop this log everywhere; "+
		"`conch log recover` begins a new lineage of it from the copy of one node", answer, len(members), need)
}
