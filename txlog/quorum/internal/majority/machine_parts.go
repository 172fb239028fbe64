package majority

import (
	"google.golang.org/protobuf/proto"

	pb "go.etcd.io/raft/v3/raftpb"
)

// parts tells a store that has left what it lacks up to here, if it asks for a vote: that the change has ended by which it left. Nobody speaks to
// it any more, and if it has missed that end it asks on, until something else comes. It reports whether this leader knows more than the store.
func (m *Machine) parts(in Received) bool {
	if !m.leading || in.From == m.cfg.Self || len(in.Bytes) > mostAsking {
		return false
	}
	o, err := skim(m.cfg.Log, in.Bytes)
	if err != nil || o.to != m.cfg.Store || o.kind != ofLibrary {
		return false
	}
	e, err := o.open()
	if err != nil || e.library.GetType() != pb.MsgPreVote {
		return false
	}
	index, upto := e.library.GetIndex(), m.log.mark.Index
	if index > upto || !m.log.matches(index, e.library.GetLogTerm()) || m.decides().has(e.library.GetFrom()) {
		return false
	}
	entries, err := m.log.Entries(index+1, upto+1, mostEntries)
	if err != nil {
		return false // it follows, and learns it from what comes next
	}
	last := index + uint64(len(entries))
	msg := &pb.Message{
		Type: pb.MsgApp.Enum(), From: new(m.cfg.Store), To: new(e.library.GetFrom()), Term: new(m.term),
		Index: new(index), LogTerm: new(e.library.GetLogTerm()), Entries: entries, Commit: new(last),
	}
	sealed, err := proto.MarshalOptions{}.MarshalAppend(sealing(m.cfg.Log, ofLibrary, proto.Size(msg)), msg)
	if err != nil {
		return false
	}
	m.out.Messages = append(m.out.Messages, Message{To: in.From, Bytes: sealed})
	return true
}
