package member

import (
	"time"

	"github.com/conchhq/conch/txlog"
)

// heads is what was said of how far the log is committed.
type heads struct {
	covered uint64        // by a head that was said here
	said    time.Duration // when the last one was said here
	spoken  bool          // one was
	mark    uint64        // an index that none covers
	since   time.Duration // when it was committed
}

// sayHead says how far the log is committed, with the newest index: the leader at most each Publish, another member at most each Silence.
// It says so whatever others say: its own heads alone are in its store, and cover what it gives to those that are far behind.
func (m *Machine) sayHead() {
	h := &m.heads
	last, is := m.base.Last()
	if !is || last.Index <= h.covered || m.doubt.spoiled || !m.isMember() {
		h.mark = 0
		return
	}
	if h.mark <= h.covered {
		h.mark, h.since = last.Index, m.now
	}
	if m.leading && h.spoken && m.now-h.said < publish || !m.leading && m.now-h.since < silence {
		return
	}
	h.covered, h.said, h.spoken, h.mark = last.Index, m.now, true, 0
	m.do(Say{Head: txlog.Head{Position: last.Position(), State: last.State, Member: m.cfg.Self}})
}
