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

// remember keeps a record as the last one.
func (m *Machine) remember(r txlog.Record) {
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

// mark returns what a head of an index has to say, if it is not too long ago.
func (m *Machine) mark(index uint64) (mark, bool) {
	if index > m.at.Index || m.at.Index-index >= uint64(len(m.marks)) {
		return mark{}, false
	}
	return m.marks[uint64(len(m.marks))-1-(m.at.Index-index)], true
}

// memory returns the records from an index on that are in memory.
func (m *Machine) memory(from uint64) []recent {
	if n := uint64(len(m.recent)); n > 0 && from <= m.at.Index && m.at.Index-from < n {
		return m.recent[n-1-(m.at.Index-from):]
	}
	return nil
}

// cover returns the first head that covers an index; a zero one, if none is known.
func (m *Machine) cover(index uint64) txlog.Head {
	for _, h := range m.covers {
		if h.Index >= index {
			return h
		}
	}
	return txlog.Head{}
}

// last returns the last head that covers nothing after an index; a zero one, if none is known.
func (m *Machine) last(index uint64) txlog.Head {
	for _, h := range slices.Backward(m.covers) {
		if h.Index <= index {
			return h
		}
	}
	return txlog.Head{}
}

// covered notes that a head covers what is applied.
func (m *Machine) covered(h txlog.Head) {
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

// passes takes note of a record that was applied.
func (m *Machine) passes(r txlog.Record) {
	if r.Kind == txlog.Changed {
		m.changes(r)
	}
	m.remember(r)
}

// passed takes note of heads of what was applied since.
func (m *Machine) passed() {
	for len(m.pool) > 0 && m.pool[0].Index <= m.at.Index {
		h := m.pool[0].Head
		m.pool = m.pool[1:]
		switch mark, is := m.mark(h.Index); {
		case !is:
		case mark.hash == h.Hash && mark.state == h.State:
			m.covered(h)
			m.spans(h)
		default:
			if !slices.Contains(m.forks, forkOf(h)) {
				m.parts(m.cover(h.Index), h, h.Index)
			}
		}
	}
	m.trim()
	m.recall()
	m.dismiss()
	m.review()
}
