package majority

import (
	"cmp"
	"slices"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
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
	lost      loss
	patience  uint64 // rounds without a word after which a leader is lost, until calm
	calm      uint64
	suggested string
	chance    splitmix.Source
	spoke     map[uint64]uint64 // when each member's store was last heard
}

// loss is that of a leader; of this store itself, if it is to campaign last.
type loss struct {
	store uint64
	term  uint64 // in which it led; 0: it is known whether it lived
	heard uint64 // when, before that
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
		if m.pace.ticks-m.pace.heard >= m.pace.waits() {
			m.pace.lost, m.pace.tries = loss{m.leader, m.term, m.pace.heard}, 0
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
		case of.Store == m.pace.lost.store:
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

// stand campaigns at once, if there is no leader, no vote goes on, and the others do not come first.
func (m *Machine) stand() {
	now := m.node.BasicStatus()
	if now.Lead == 0 && now.RaftState != raft.StateCandidate && m.pace.lost.store != m.cfg.Store {
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

// waits returns for how many rounds a member waits for a word of the leader.
func (p *pace) waits() uint64 {
	if p.ticks < p.calm {
		return p.patience
	}
	return missedBeats
}

// lived looks whether a message shows that a leader lived which was lost: it goes on in its term. Its process, or the way to it, is slow,
// and the next one's will be: to elect another one again and again would leave no time for work. So this member waits for longer, for a
// while. A silence for which a leader steps down by itself was a cut, and no waiting helps against that.
func (p *pace) lived(msg *pb.Message) {
	kind := msg.GetType()
	if msg.GetFrom() != p.lost.store || msg.GetTerm() != p.lost.term || kind != pb.MsgHeartbeat && kind != pb.MsgApp {
		return
	}
	p.lost.term = 0
	if silence := p.ticks - p.lost.heard; silence <= electionTicks {
		p.patience, p.calm = min(2*silence, mostMissed), p.ticks+calmTicks
	}
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
