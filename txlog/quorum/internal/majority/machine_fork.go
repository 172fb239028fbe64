package majority

import (
	"bytes"
	"fmt"
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"
)

// A leader has all that is committed, since one of those that elected it had. If it has not, one of these has forgotten what it had promised,
// as a store has that was restored from a backup or copied; or somebody lies. Neither of the two can tell which it is: both go on with what
// they have, and say so. The library by itself would take the other one's entries for the same ones, and count them as stored.

// parted is the member whose entries were found last to contradict those of this one.
type parted struct {
	with  string // empty: none
	leads bool   // the other one leads, and not this one
	upto  uint64 // the newest committed record of the one that does not lead; 0: it was not said
	at    uint64 // the tick of that
}

// forks reports whether a leader has other entries than those that are committed here. Leaders of two histories may have led in one term, so
// the bytes are compared as well.
func (m *Machine) forks(msg *pb.Message) bool {
	if msg.GetTerm() < m.term { // what an old leader has may never have been committed
		return false
	}
	other := func(index, term uint64) bool {
		return index >= m.log.base.Index && index <= m.log.hard.Commit && !m.log.matches(index, term)
	}
	switch msg.GetType() {
	case pb.MsgApp:
		return other(msg.GetIndex(), msg.GetLogTerm()) || slices.ContainsFunc(msg.GetEntries(), func(e *pb.Entry) bool {
			index := e.GetIndex()
			return other(index, e.GetTerm()) || index > m.log.base.Index && index <= m.log.hard.Commit && !bytes.Equal(e.GetData(), m.log.slot(index).entry.GetData())
		})
	case pb.MsgSnap:
		at := msg.GetSnapshot().GetMetadata()
		return other(at.GetIndex(), at.GetTerm())
	default:
		return false
	}
}

// strays reports whether an entry that comes next was made after another record than the one that is committed here.
func (m *Machine) strays(at *slot, next *pb.Entry) bool {
	r, has, err := ours(next).Record()
	return err == nil && has && r.Log == m.cfg.Log && r.Prev != at.at.Hash && at.entry.GetIndex() <= m.log.hard.Commit
}

// split tells a leader that what is committed here is not what it has.
func (m *Machine) split(from string, msg *pb.Message) {
	m.hears(msg.GetFrom())
	upto := m.log.mark.At.Index
	m.parted = parted{with: from, leads: true, upto: upto, at: m.pace.ticks}
	m.refuse(from, fault(ErrForked, "the leader of term %d has other entries than those that are committed here, up to record %d", msg.GetTerm(), upto))
	r := refusal{from: m.cfg.Store, to: msg.GetFrom(), term: msg.GetTerm(), index: upto}
	m.out.Messages = append(m.out.Messages, Message{To: from, Bytes: seal(m.cfg.Log, ofFork, r.encode())})
}

// fork says both explanations, and what a person is to do, if another member has said so lately.
func (m *Machine) fork() string {
	p := m.parted
	if p.with == "" || m.pace.ticks-p.at >= quiet {
		return ""
	}
	what := p.with + " says that entries are committed there which this leader does not have"
	if p.leads {
		what = fmt.Sprintf("%s leads, and has other entries than those that are committed here, up to entry %d", p.with, p.upto)
	} else if p.upto > 0 {
		what = fmt.Sprintf("%s, up to entry %d", what, p.upto)
	}
	return what + ". Either a member's store, which may be this one's, was restored from a backup or copied, and has forgotten what it had promised; or " + p.with +
		" lies, or its key is stolen. If a store was restored, stop its node, move that store away and start the node: it begins with a new store. " +
		"If the log has gone on without what is committed at one of them, stop all members first, and follow docs/log.md (A store that was restored)"
}
