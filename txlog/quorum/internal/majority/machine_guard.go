package majority

import (
	"encoding/binary"

	pb "go.etcd.io/raft/v3/raftpb"
)

// guard refuses what no member sends. Some of it would have the library panic, since it takes it for a sign that its log
// was lost; some it would believe.
func (m *Machine) guard(msg *pb.Message) error {
	switch {
	case msg.GetTerm() == 0 || msg.GetTerm() > mostNumber || msg.GetIndex() > mostNumber || msg.GetCommit() > mostNumber:
		return fault(ErrMessage, "a term or an index is out of range") // term 0 is that of local messages, in any term
	case msg.GetTerm() > mostLeap && msg.GetTerm()-mostLeap > max(m.term, m.log.mark.Term, m.log.mark.At.Term):
		return fault(ErrMessage, "term %d is not believed: this member is in term %d, and no log has so many elections. "+
			"The sender's key is stolen, or its store was spoiled: take it out with conch log members --set, and delete that store", msg.GetTerm(), m.term)
	case msg.GetSnapshot() != nil && msg.GetType() != pb.MsgSnap:
		return fault(ErrMessage, "it has what another kind has")
	case len(msg.GetEntries()) > 0 && msg.GetType() != pb.MsgApp:
		return fault(ErrMessage, "it has entries")
	}
	switch msg.GetType() {
	case pb.MsgApp:
		return guardEntries(msg)
	case pb.MsgHeartbeat:
		return m.guardCommit(msg)
	case pb.MsgAppResp:
		return m.guardStored(msg)
	case pb.MsgHeartbeatResp:
		return m.guardBeat(msg)
	case pb.MsgSnap:
		return m.guardSnapshot(msg)
	case pb.MsgVote, pb.MsgPreVote, pb.MsgVoteResp, pb.MsgPreVoteResp:
		if len(msg.GetContext()) > 0 { // with it a candidate would have a vote although a leader is heard
			return fault(ErrMessage, "it asks for a vote by force")
		}
		return nil
	default: // local, or of what we never do: forwarding, and handing a term over
		return fault(ErrMessage, "a message of kind %v", msg.GetType())
	}
}

// guardEntries refuses entries that do not follow each other.
func guardEntries(msg *pb.Message) error {
	index, term := msg.GetIndex(), msg.GetLogTerm()
	for _, e := range msg.GetEntries() {
		if e.GetIndex() != index+1 || e.GetTerm() < term || e.GetTerm() > msg.GetTerm() || e.GetTerm() == 0 {
			return fault(ErrMessage, "entry %d of term %d follows entry %d of term %d, in term %d", e.GetIndex(), e.GetTerm(), index, term, msg.GetTerm())
		}
		index, term = e.GetIndex(), e.GetTerm()
	}
	return nil
}

// guardCommit refuses a beat that counts on what is not here. A leader counts on no more than this store has told it, so either this store has
// forgotten that since, before the machine was made, or the sender lies. The first leader that was heard may have been told before; a later one,
// and one of another term, was told by this machine alone.
func (m *Machine) guardCommit(msg *pb.Message) error {
	last := m.log.last().entry.GetIndex()
	switch {
	case msg.GetTerm() < m.term || msg.GetCommit() <= last:
		return guardContext(msg)
	case m.first.store == 0 || m.first == (reign{msg.GetTerm(), msg.GetFrom()}):
		return fault(ErrLost, "it counts on entry %d, and %d is the last", msg.GetCommit(), last)
	}
	return fault(ErrMessage, "it counts on entry %d, and %d is the last that it can have been told of by this process. If this node was put back to an earlier state "+
		"while it ran, start it again", msg.GetCommit(), last)
}

func guardContext(msg *pb.Message) error {
	if n := len(msg.GetContext()); n != 0 && n != 8 {
		return fault(ErrMessage, "a beat has a context of %d bytes", n)
	}
	return nil
}

// guardStored refuses the word of a member that has more than this leader. A leader should have all that is committed; and of what is not, a
// member says only that it has stored what the leader has sent.
func (m *Machine) guardStored(msg *pb.Message) error {
	last := m.log.last().entry.GetIndex()
	switch {
	case !m.leading || msg.GetTerm() != m.term:
	case msg.GetReject() && msg.GetRejectHint() > last:
		return fault(ErrMessage, "it says that entry %d is its last, and %d is the leader's", msg.GetRejectHint(), last)
	case msg.GetIndex() > last:
		return fault(ErrForked, "it says that entry %d is committed, and %d is the last of this leader", msg.GetIndex(), last)
	}
	return nil
}

// guardBeat refuses the answer to a question that was not asked.
func (m *Machine) guardBeat(msg *pb.Message) error {
	if err := guardContext(msg); err != nil || len(msg.GetContext()) == 0 {
		return err
	}
	if n := binary.LittleEndian.Uint64(msg.GetContext()); m.leading && msg.GetTerm() == m.term && n > m.reads.counted {
		return fault(ErrMessage, "it answers question %d, and %d is the last", n, m.reads.counted)
	}
	return nil
}

// guardSnapshot refuses a snapshot that does not say the same twice.
func (m *Machine) guardSnapshot(msg *pb.Message) error {
	meta := msg.GetSnapshot().GetMetadata()
	mark, err := decodeMark(msg.GetSnapshot().GetData())
	if err != nil || meta == nil || meta.GetConfState() == nil {
		return fault(ErrMessage, "its snapshot cannot be read")
	}
	if mark.At.Log != m.cfg.Log {
		return ErrOtherLog
	}
	decides := &conf{members: mark.Members, leaving: mark.Leaving}
	if err := decides.check(); err != nil {
		return err
	}
	switch {
	case mark.Index != meta.GetIndex() || mark.Term != meta.GetTerm() || meta.GetConfState().Equivalent(mark.confState()) != nil:
		return fault(ErrMessage, "its snapshot contradicts itself")
	case mark.Index == 0 || mark.Index > mostNumber || mark.Term == 0 || mark.Term > msg.GetTerm() || mark.At.Term > mark.Term:
		return fault(ErrMessage, "its snapshot is of entry %d and term %d", mark.Index, mark.Term)
	case !decides.has(m.cfg.Store):
		return fault(ErrMessage, "its snapshot is of a log of which this store is no member")
	}
	return nil
}
