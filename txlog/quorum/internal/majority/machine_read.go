package majority

import (
	"encoding/binary"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/conchhq/conch/txlog/internal/authority"
)

// reads is what this leader has asked a majority. Each question is a beat too: a majority that answers it has heard this
// leader, and no other one, after the question was asked.
type reads struct {
	waiting []uint64 // reads that no question was asked for
	asked   map[uint64]question
	next    uint64
	open    uint64 // the question that a read waits for; 0: none
	due     bool   // a beat
	counted uint64 // questions of this term that heartbeats have told of, as the library counts them
}

type question struct {
	at    time.Duration // when it was asked
	index uint64        // the newest committed record then
	reads []uint64
}

// sent notes what a heartbeat of this term asks.
func (r *reads) sent(context []byte) {
	if len(context) == 8 {
		r.counted = max(r.counted, binary.LittleEndian.Uint64(context))
	}
}

// confirm takes a read.
func (m *Machine) confirm(read uint64) {
	if m.leading && len(m.reads.waiting) < mostWaiting {
		m.reads.waiting = append(m.reads.waiting, read)
	}
}

// ask asks a majority, if a beat is due or reads wait and none is asked for. Before an entry of its own term is committed,
// a leader does not know what is.
func (m *Machine) ask() {
	r := &m.reads
	if !m.leading || m.log.mark.Term != m.term {
		return
	}
	if !r.due && (len(r.waiting) == 0 || r.open != 0) {
		return
	}
	if r.asked == nil {
		r.asked = map[uint64]question{}
	}
	r.next++
	r.asked[r.next] = question{at: m.now, index: m.log.mark.At.Index, reads: r.waiting}
	if len(r.waiting) > 0 {
		r.open = r.next
	}
	r.waiting, r.due = nil, false
	m.node.ReadIndex(binary.BigEndian.AppendUint64(nil, r.next))
	m.drain()
}

// answered takes the questions that a majority has answered.
func (m *Machine) answered(states []raft.ReadState) {
	for _, state := range states {
		if !m.leading || len(state.RequestCtx) != 8 {
			continue
		}
		n := binary.BigEndian.Uint64(state.RequestCtx)
		q, is := m.reads.asked[n]
		if !is {
			continue
		}
		delete(m.reads.asked, n)
		if n >= m.reads.open {
			m.reads.open = 0
		}
		for _, read := range q.reads {
			m.tell(authority.Confirmed{Read: read, Index: q.index})
		}
		if until := q.at + m.cfg.Lease - m.margin(); until > m.door.Until {
			m.move(Door{Term: m.term, Opens: m.door.Opens, Until: until})
		}
	}
}

// margin is by how much the act door shuts before the lease ends: clocks of two nodes do not run alike.
func (m *Machine) margin() time.Duration { return max(m.cfg.Lease/10, 50*time.Millisecond) }

// hold says from when on the act door of a new term may be open: the longest lease that anybody may still count on has
// ended then. A member of the majority that made this term had answered the last beat before.
func (m *Machine) hold() {
	m.move(Door{Term: m.term, Opens: m.now + m.cfg.Lease, Until: m.now})
}

func (m *Machine) move(d Door) {
	if d != m.door {
		m.door = d
		m.out.Door = &d
	}
}
