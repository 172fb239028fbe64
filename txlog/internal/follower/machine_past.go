package follower

import (
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
)

// past is what is known of the entries up to the copy's index.
type past struct {
	marks       []mark   // of the last entries, one for each index
	recent      []recent // the last ones, which are given from memory
	recentBytes int
	covers      []txlog.Head // of what was applied, by index
}

// recent is a record that was applied lately.
type recent struct {
	txlog.Record

	at    time.Duration
	given int // how often
}

// mark is what a head of an index has to say.
type mark struct{ hash, state txlog.Hash }

// rememberRecord keeps a record as the last one.
func (m *Machine) rememberRecord(r txlog.Record) {
	m.at = r.Position()
	m.marks = append(m.marks, mark{r.Hash(), r.State})
	if len(m.marks) > mostMarks+mostMarks/4 {
		m.marks = append(m.marks[:0], m.marks[len(m.marks)-mostMarks:]...)
	}
	m.recent = append(m.recent, recent{Record: r, at: m.now})
	m.recentBytes += len(r.Raw())
	for len(m.recent) > 1 && (len(m.recent) > mostRecent || m.recentBytes > recentBytes) {
		m.recentBytes -= len(m.recent[0].Raw())
		m.recent[0] = recent{}
		m.recent = m.recent[1:]
	}
}

// markOf returns what a head of an index has to say, if it is not too long ago.
func (m *Machine) markOf(index uint64) (mark, bool) {
	if index > m.at.Index || m.at.Index-index >= uint64(len(m.marks)) {
		return mark{}, false
	}
	return m.marks[uint64(len(m.marks))-1-(m.at.Index-index)], true
}

// recordsInMemory returns the records from an index on that are in memory.
func (m *Machine) recordsInMemory(from uint64) []recent {
	if n := uint64(len(m.recent)); n > 0 && from <= m.at.Index && m.at.Index-from < n {
		return m.recent[n-1-(m.at.Index-from):]
	}
	return nil
}

// firstCover returns the first head that covers an index; a zero one, if none is known.
func (m *Machine) firstCover(index uint64) txlog.Head {
	for _, h := range m.covers {
		if h.Index >= index {
			return h
		}
	}
	return txlog.Head{}
}

// lastCover returns the last head that covers nothing after an index; a zero one, if none is known.
func (m *Machine) lastCover(index uint64) txlog.Head {
	for _, h := range slices.Backward(m.covers) {
		if h.Index <= index {
			return h
		}
	}
	return txlog.Head{}
}

// noteCovered notes that a head covers what is applied.
func (m *Machine) noteCovered(h txlog.Head) {
	at := len(m.covers)
	for at > 0 && m.covers[at-1].Index > h.Index {
		at--
	}
	if at > 0 && m.covers[at-1].Index == h.Index {
		return
	}
	m.covers = append(m.covers, txlog.Head{})
	copy(m.covers[at+1:], m.covers[at:])
	m.covers[at] = h
	if len(m.covers) > mostCovers {
		m.covers = append(m.covers[:0], m.covers[1:]...)
	}
	if h.Index > m.head.Index {
		m.head = h
	}
}

// notePassed takes note of a record that was applied.
func (m *Machine) notePassed(r txlog.Record) {
	if r.Kind == txlog.Changed {
		m.noteChange(r)
	}
	m.rememberRecord(r)
}

// noteHeadsPassed takes note of heads of what was applied since.
func (m *Machine) noteHeadsPassed() {
	for len(m.pool) > 0 && m.pool[0].Index <= m.at.Index {
		h := m.pool[0].Head
		m.pool = m.pool[1:]
		switch mark, is := m.markOf(h.Index); {
		case !is:
		case mark.hash == h.Hash && mark.state == h.State:
			m.noteCovered(h)
			m.makeBridges(h)
		default:
			if !slices.Contains(m.forks, forkOf(h)) {
				m.tellFork(m.firstCover(h.Index), h, h.Index)
			}
		}
	}
	m.trimProven()
	m.recallDenied()
	m.dismissFormer()
	m.reviewStrangers()
}
