package sender

import (
	"slices"
	"time"
)

// tick does what time alone does.
func (m *Machine) tick() {
	if m.work == nil {
		return
	}
	m.excuse(m.now - m.ticked)
	m.ticked = m.now
	if m.head > m.reached+manyBlocks {
		m.forgive()
	}
	news := m.head != m.reached
	m.reached = m.head
	if len(m.commits) > 0 && m.now-m.storedAt >= m.cfg.Silence { // nobody goes on with what is not stored here
		for _, p := range m.listed {
			m.spare(p, 0)
		}
	}
	for _, d := range m.working {
		if o := d.open; o != nil && m.now-o.sent >= m.cfg.AckTimeout {
			m.unanswered(d)
		}
		if d.moveAt > 0 && m.now >= d.moveAt {
			d.moveAt = 0
			m.close(d)
			for _, it := range d.all() {
				m.tell(it, happening{event: turned})
			}
		}
	}
	m.working = slices.DeleteFunc(m.working, func(d *delegation) bool { return d.count == 0 && d.open == nil && d != m.current })
	for _, p := range m.listed {
		m.serves(p)
		if p.active > 0 {
			m.seesBehind(p)
		}
		switch {
		case p.active > 0 && p.account != m.cfg.Self && m.now-p.heard >= m.cfg.Silence:
			m.lose(p)
		case p.late && !m.isBehind(p):
			m.catchesUp(p)
		case m.leavesAlone(p, news):
			m.leaveOut(p)
		}
	}
	m.nudge()
}

// excuse forgives others the time for which this node itself stood still: what they said meanwhile waits to be read.
func (m *Machine) excuse(gap time.Duration) {
	if gap < m.cfg.Silence/2 {
		return
	}
	for _, p := range m.listed {
		p.heard = min(p.heard+gap, m.now)
		p.spared.at = max(p.spared.at, min(p.spared.at+gap, m.now))
	}
	for _, d := range m.working {
		if d.open != nil {
			d.open.sent = min(d.open.sent+gap, m.now)
		}
	}
}

// unanswered moves what a node has not accepted in time (P9).
func (m *Machine) unanswered(d *delegation) {
	o := d.open
	m.close(d)
	m.fail(d.to)
	for _, it := range o.intents {
		if it.under == d.id {
			m.tell(it, happening{event: declined})
		}
	}
}

// nudge asks for a block if one is waited for and none comes (D19). For work that its coordinator leaves alone it does so ever more
// seldom, whatever blocks come: a range has to end, so that another one has its turn, and that may take many of them.
func (m *Machine) nudge() {
	waits := m.deadlined
	for s := Granting; s <= Ending; s++ {
		waits += m.counts[s]
	}
	if left := waits == 0 && m.leaves(); left != m.leftAlone {
		m.leftAlone, m.nudgeAt, m.nudgePause = left, 0, 0
	}
	switch {
	case waits == 0 && !m.leftAlone:
		m.nudgeAt, m.nudgePause = 0, 0
	case m.nudgeAt == 0:
		m.nudgePause = max(m.nudgePause, m.cfg.NudgeAfter)
		m.nudgeAt = m.now + m.nudgePause
	case m.now >= m.nudgeAt:
		m.nudgePause = min(2*m.nudgePause, max(longest, m.cfg.NudgeAfter))
		m.nudgeAt = m.now + m.nudgePause
		m.do(Nudge{})
	}
}

// leaves reports whether a coordinator has an intent that could go on, by what this node knows.
func (m *Machine) leaves() bool {
	for _, d := range m.working {
		for it := d.first; it != nil; it = it.next {
			if it.state == Accepted && !it.poor {
				return true
			}
		}
	}
	return false
}
