package majority

import (
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
)

// behind is from where the leader would have this member go on, when the records up to there are here.
type behind struct {
	from  string
	msg   *pb.Message
	mark  Mark
	since uint64 // the tick
}

// stale is after how many rounds a newer place is taken. Until then the goal does not move.
const stale = 100

// astray is a leader whose place to go on from is none by what was verified. It says it again every few rounds, and to look at it takes a
// reading of the whole store: there are growing pauses in between.
type astray struct {
	term         uint64
	until, pause uint64 // in ticks
}

const mostAstray = 64 * stale

// lags reports whether a snapshot has to wait until this node has what it is of.
func (m *Machine) lags(from string, msg *pb.Message) bool {
	mark, err := decodeMark(msg.GetSnapshot().GetData())
	if err != nil || msg.GetTerm() < m.term || mark.Index <= m.log.hard.Commit || m.log.matches(mark.Index, mark.Term) {
		return false // the library answers it, and takes nothing
	}
	m.hears(msg.GetFrom())
	if m.astray.term == msg.GetTerm() && m.pace.ticks < m.astray.until {
		return true
	}
	if b := m.behind; b != nil && b.msg.GetTerm() == msg.GetTerm() && m.pace.ticks-b.since < stale {
		m.tellBehind()
		return true
	}
	m.behind = &behind{from: from, msg: msg, mark: mark, since: m.pace.ticks}
	m.tellBehind()
	return true
}

func (m *Machine) tellBehind() {
	m.out.Behind = new(m.behind.mark.At)
}

// reached goes on from where the leader has said.
func (m *Machine) reached(at txlog.Position) {
	m.have = max(m.have, at.Index)
	b := m.behind
	if b == nil || at.Index != b.mark.At.Index {
		return
	}
	if at != b.mark.At {
		m.behind = nil
		pause := uint64(stale)
		if m.astray.term == b.msg.GetTerm() {
			pause = min(2*m.astray.pause, mostAstray)
		}
		m.astray = astray{term: b.msg.GetTerm(), until: m.pace.ticks + pause, pause: pause}
		m.refuse(b.from, fault(ErrMessage, "the leader's record %d is %s, and the verified one is %s", at.Index, b.mark.At.Hash.Short(), at.Hash.Short()))
		return
	}
	_ = m.node.Step(b.msg)
	m.drain()
	if m.behind == b { // another term has begun, whose leader says it again
		m.behind = nil
	}
}
