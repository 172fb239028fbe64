package quorum

import (
	"cmp"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"

	"github.com/conchhq/conch/internal/splitmix"
	"github.com/conchhq/conch/txlog"
)

// pace is when this member campaigns. The library's own timer, which is random, is never used.
type pace struct {
	ticks     uint64
	heard     uint64 // when the leader was last heard
	next      uint64 // when to campaign, if there is no leader
	tries     uint64 // campaigns since there was one
	lost      uint64 // the store of the leader that was lost
	suggested string
	chance    splitmix.Source
	spoke     map[uint64]uint64 // when each member's store was last heard
}

func newPace(seed uint64) pace {
	return pace{chance: splitmix.Source(seed), spoke: map[uint64]uint64{}}
}

// tick does what time alone does.
func (m *Machine) tick() {
	m.pace.ticks++
	switch {
	case m.leading:
		m.node.Tick()
		m.drain()
		m.reads.due = true
		m.nudge()
	case m.leader != 0:
		if m.pace.ticks-m.pace.heard >= missedBeats {
			m.pace.lost, m.pace.tries = m.leader, 0
			_ = m.node.ForgetLeader() // it has no error for a follower
			m.plan(0)
			m.campaign()
		}
	default:
		m.campaign()
	}
}

// plan says when this member campaigns: after so many rounds, and two more for each member before it.
func (m *Machine) plan(rounds uint64) {
	m.pace.next = m.pace.ticks + rounds + rankTicks*m.rank()
}

// rank returns this member's place in the order of campaigns: the suggested one comes first, the lost leader last.
func (m *Machine) rank() uint64 {
	place := func(of txlog.Member) int {
		switch {
		case of.Store == m.pace.lost:
			return 2
		case of.Name == m.pace.suggested:
			return 0
		}
		return 1
	}
	order := slices.SortedFunc(slices.Values(m.log.mark.Members), func(a, b txlog.Member) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Name, b.Name))
	})
	return uint64(max(0, slices.IndexFunc(order, func(of txlog.Member) bool { return of.Store == m.cfg.Store })))
}

// campaign asks the others for a term, if it is time. They say no while they hear a leader.
func (m *Machine) campaign() {
	if m.pace.ticks < m.pace.next || !m.decides().has(m.cfg.Store) || m.removed() {
		return
	}
	// The first two are in vain if the others lose the leader a little later, and the next member has its turn soon.
	pause := min(uint64(1)<<max(m.pace.tries, 1)/2, mostPause)
	m.pace.next = m.pace.ticks + pause + m.pace.chance.Next()%pause
	m.pace.tries = min(m.pace.tries+1, 32)
	_ = m.node.Campaign() // what it refuses, it says nothing about
}

// stand campaigns at once, if there is no leader and no vote goes on.
func (m *Machine) stand() {
	now := m.node.BasicStatus()
	if now.Lead == 0 && now.RaftState != raft.StateCandidate {
		m.pace.next = m.pace.ticks
		m.campaign()
	}
}

// suggest takes the name of the member that is to campaign first. It is a hint, and deposes nobody.
func (m *Machine) suggest(name string) {
	if name == m.pace.suggested {
		return
	}
	m.pace.suggested = name
	if name == m.cfg.Self {
		m.stand()
	}
}

// removed reports whether a verified entry says that this store is no member, although by what it has stored it still is. A store that
// leaves with the newest change is not removed yet: it is needed to end that change.
func (m *Machine) removed() bool {
	return m.known != nil && !(&conf{members: m.known.Members, leaving: m.known.Before}).has(m.cfg.Store)
}

// hears notes that a member has spoken.
func (m *Machine) hears(store uint64) {
	m.pace.spoke[store] = m.pace.ticks
	if store == m.node.BasicStatus().Lead {
		m.pace.heard = m.pace.ticks
	}
}

// nudge has the library send a snapshot again to a member that has not answered it. The library itself would wait for the answer for
// ever, and either message may be lost.
func (m *Machine) nudge() {
	waits := map[uint64]bool{}
	var again []uint64
	m.node.WithProgress(func(store uint64, _ raft.ProgressType, p tracker.Progress) {
		if p.State == tracker.StateSnapshot {
			waits[store] = true
			if m.snapshots[store]++; m.snapshots[store] > snapshotTicks {
				again = append(again, store)
			}
		}
	})
	for store := range m.snapshots {
		if !waits[store] {
			delete(m.snapshots, store)
		}
	}
	for _, store := range again {
		delete(m.snapshots, store)
		m.node.ReportSnapshot(store, raft.SnapshotFailure)
	}
}
