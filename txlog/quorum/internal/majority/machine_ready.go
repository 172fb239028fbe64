package majority

import (
	"google.golang.org/protobuf/proto"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// drain takes what the library has to say until it has said everything. The library may count on what is only asked to
// be kept, since nothing of it leaves the machine before it is.
func (m *Machine) drain() {
	for m.node.HasReady() {
		ready := m.node.Ready()
		m.ready(ready)
		m.node.Advance(ready)
	}
}

func (m *Machine) ready(ready raft.Ready) {
	if hard := ready.HardState; !raft.IsEmptyHardState(hard) {
		m.log.hard = Hard{Term: hard.GetTerm(), Vote: hard.GetVote(), Commit: hard.GetCommit()}
		now := m.log.hard
		m.out.Persist.Hard = &now
	}
	m.out.Persist.Sync = m.out.Persist.Sync || ready.MustSync
	now := m.node.BasicStatus()
	lead := now.RaftState == raft.StateLeader
	if !lead {
		m.deposed(now.GetTerm(), now.Lead)
	}
	if !raft.IsEmptySnap(ready.Snapshot) {
		m.reset()
	}
	m.store(ready.Entries)
	m.commit(ready.CommittedEntries)
	if lead {
		m.leads(now.GetTerm())
	}
	m.answered(ready.ReadStates)
	m.posted = append(m.posted, ready.Messages...)
}

// deposed tells that this member does not lead, if that is news.
func (m *Machine) deposed(term, leader uint64) {
	if !m.leading && term == m.term && leader == m.leader {
		return
	}
	if leader == 0 && (m.leading || term != m.term) {
		m.plan(m.pace.waits()) // somebody campaigns, and the new leader has not spoken yet
	}
	if leader != 0 {
		m.pace.heard, m.pace.tries, m.ownFrom = m.pace.ticks, 0, 0
	}
	news := m.leading || leader != m.leader // a term alone, which may become this member's own, is none
	m.term, m.leader, m.leading = term, leader, false
	m.serves()
	if !news {
		return
	}
	m.queue, m.reads = nil, reads{}
	clear(m.snapshots)
	m.move(Door{})
	m.tell(authority.Deposed{Term: term, Leader: m.names[leader]})
}

// serves notes the first leader: see guardCommit.
func (m *Machine) serves() {
	if m.first.store == 0 {
		m.first = reign{m.term, m.leader} // of store 0: nobody yet
	}
}

// leads tells that this member leads in a new term.
func (m *Machine) leads(term uint64) {
	if m.leading && m.term == term {
		return
	}
	m.term, m.leader, m.leading = term, m.cfg.Store, true
	m.serves()
	m.begun, m.changedAt = m.log.last().entry.GetIndex(), 0
	if m.ownFrom == 0 {
		m.ownFrom = m.begun
	}
	m.queue, m.reads, m.pace.tries = nil, reads{}, 0
	m.hold()
	m.tell(authority.Leads{Term: term})
}

// reset goes on from where the leader's snapshot is of. The records up to there are here.
func (m *Machine) reset() {
	to := m.behind.mark
	m.behind = nil
	m.log.reset(to)
	m.learn(m.decides())
	p := &m.out.Persist
	p.Reset, p.Entries, p.Records, p.Mark, p.Base, p.Sync = &to, nil, nil, nil, nil, true
	m.have = max(m.have, to.At.Index)
	m.committed = max(m.committed, to.At.Index)
	m.outgrown()
}

// outgrown forgets Known once the log itself says it.
func (m *Machine) outgrown() {
	if m.known != nil && m.known.Index <= m.log.mark.At.Index {
		m.known = nil
	}
}

// store takes entries that are new.
func (m *Machine) store(entries []*pb.Entry) {
	if len(entries) == 0 {
		return
	}
	first := m.log.slot(entries[0].GetIndex() - 1)
	dropped := m.log.last().at.Index > first.at.Index
	var records []txlog.Record
	for _, e := range entries {
		s := m.slotOf(e)
		m.log.replace(s)
		if s.news(m.have) {
			records = append(records, s.record)
		}
		if s.conf != first.conf {
			m.learn(s.conf)
		}
		if m.leading && ours(e).Change {
			m.changedAt = e.GetIndex()
		}
		kept := ours(e)
		kept.record = s.record
		m.keep(kept)
	}
	from := first.at.Index + 1
	switch {
	case len(records) > 0:
		m.tell(authority.Stored{Records: records})
	case dropped:
		m.tell(authority.Dropped{From: from})
	default:
		return
	}
	if m.untold == 0 || from < m.untold {
		m.untold = from
	}
}

// slotOf returns the place after an entry that the library has stored.
func (m *Machine) slotOf(e *pb.Entry) *slot {
	if len(m.fresh) > 0 {
		i := e.GetIndex() - m.fresh[0].entry.GetIndex() // far beyond the end, if it is below
		if i < uint64(len(m.fresh)) && m.fresh[i].entry == e {
			return m.fresh[i]
		}
	}
	before := m.log.slot(e.GetIndex() - 1)
	var s *slot
	var err error
	if r, is := m.own(e.GetData()); is {
		s, err = m.follows.place(before, e, r, true)
	} else {
		s, err = m.follows.follow(before, e)
	}
	if err != nil {
		stop(err.Error()) // this member has proposed it itself
	}
	return s
}

// own returns the record of an entry that this member has just proposed itself: it need not be read again.
func (m *Machine) own(data []byte) (r txlog.Record, is bool) {
	if len(m.proposed) == 0 || len(data) == 0 {
		return r, false
	}
	if r = m.proposed[0]; &r.Raw()[0] != &data[0] || len(r.Raw()) != len(data) {
		return r, false
	}
	m.proposed = m.proposed[1:]
	return r, true
}

// keep asks that an entry be kept, instead of those at its index and above.
func (m *Machine) keep(e Entry) {
	p := &m.out.Persist
	for n := len(p.Entries); n > 0 && p.Entries[n-1].Index >= e.Index; n-- {
		p.Entries = p.Entries[:n-1]
	}
	p.Entries = append(p.Entries, e)
}

// commit takes entries that a majority has stored.
func (m *Machine) commit(entries []*pb.Entry) {
	if len(entries) == 0 {
		return
	}
	for _, e := range entries {
		s := m.log.slot(e.GetIndex())
		if ours(e).Change {
			var change pb.ConfChangeV2
			if err := proto.Unmarshal(e.GetData(), &change); err != nil {
				stop(err.Error())
			}
			m.node.ApplyConfChange(&change)
		}
		m.log.mark = Mark{Base: s.id(), At: s.at, Members: s.conf.members, Leaving: s.conf.leaving}
		if s.news(m.have) {
			m.out.Persist.Records = append(m.out.Persist.Records, s.record)
		}
	}
	mark := m.log.mark
	m.out.Persist.Mark = &mark
	m.outgrown()
	if m.log.compact(m.cfg.Keep) {
		m.out.Persist.Base = new(m.log.base)
	}
	if mark.At.Index > max(m.committed, m.have) {
		m.tell(authority.Committed{Index: mark.At.Index})
	}
	m.committed = max(m.committed, mark.At.Index)
}

// deliver encodes the step's messages.
func (m *Machine) deliver() {
	beat := map[uint64]int{} // the last heartbeat to a store says all that the ones before say
	for i, msg := range m.posted {
		if msg.GetType() == pb.MsgHeartbeat {
			beat[msg.GetTo()] = i
		}
	}
	for i, msg := range m.posted {
		to := m.names[msg.GetTo()]
		if msg.GetType() == pb.MsgHeartbeat {
			m.reads.sent(msg.GetContext())
			if beat[msg.GetTo()] != i {
				continue
			}
		}
		if to == "" || to == m.cfg.Self {
			continue // a store that this node's own name has had before
		}
		sealed, err := proto.MarshalOptions{}.MarshalAppend(sealing(m.cfg.Log, ofLibrary, proto.Size(msg)), msg)
		if err == nil {
			is := msg.GetType() == pb.MsgHeartbeat || msg.GetType() == pb.MsgHeartbeatResp
			m.out.Messages = append(m.out.Messages, Message{To: to, Bytes: sealed, Beat: is})
		}
	}
	m.posted = nil
}
