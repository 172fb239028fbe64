package sender

import (
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Nobody can know what a coordinator waits for that beats and asks and answers: perhaps it lies. So it has its time for each intent that could
// go on, whatever it does with others, and then another one has the work.
//
// Two things are held against it: it leaves an intent alone that could go on (leavesAlone, looked at in each tick), or it says that it has
// dispatched one, and nothing lands by it while its grant may be used (ranOut). Then it is left out (leaveOut) until peer.idle. A wait is a
// moment, and is over (isOver) after a time and some blocks: it.waits for one intent, p.landed since something landed by a coordinator, and
// p.spared before which nothing is held against it. Something that lands by it takes it all back (landedBy), and so does that this node was
// behind (forgive). A coordinator that was behind itself and has caught up has its time anew (catchesUp); how often it was left out stays.
// Whenever a leave ends, before its time or by it, what others were given since goes back (recall).

// fewestBlocks is how many blocks a coordinator has at least, as what it builds on may have to be in one first.
const fewestBlocks = 8

// patientFor is for how many blocks a coordinator is waited for at least: for longer than what it has inherited locks its states there.
// Else each one after it would be left too, and inherit the same.
func (m *Machine) patientFor() uint64 {
	return max(fewestBlocks, m.cfg.Contract.Life/2+m.cfg.Contract.Depth+2)
}

// moment is when a wait began.
type moment struct {
	at   time.Duration
	head uint64
}

// begins begins a wait anew: some time from now, or when it was to begin already, if that is later.
func (m *Machine) begins(w *moment, after time.Duration) {
	w.at, w.head = max(w.at, m.now+after), m.head
}

// isOver reports whether a wait has lasted for as long as a coordinator is waited for, and for so many blocks.
func (m *Machine) isOver(w moment, blocks uint64) bool {
	return m.now-w.at >= m.cfg.Patience && m.head >= w.head+blocks
}

// spare holds nothing of before against a coordinator, and nothing for some time.
func (m *Machine) spare(p *peer, after time.Duration) {
	m.begins(&p.spared, after)
	m.begins(&p.landed, 0)
}

// manyBlocks come between two ticks only when this node was behind.
const manyBlocks = 4

// forgive takes back what was held against others while this node was behind: no coordinator can use a grant of long ago.
func (m *Machine) forgive() {
	for _, p := range m.listed {
		m.acquit(p)
		m.spare(p, 0)
	}
}

// landedBy ends what is held against the coordinators by which an attempt may have landed.
func (m *Machine) landedBy(it *intent, assembled ledger.Hash) {
	for _, g := range it.given {
		if p := m.peers[g.To]; p != nil && g.Assembled == assembled {
			m.acquit(p)
			m.begins(&p.landed, 0)
		}
	}
}

// leavesAlone reports whether a coordinator has left an intent alone for as long as it is waited for that could be carried out at each block
// of that time, by the ledger's own states. As many are looked at as are in one request. There is news if there was a block since the last
// tick: by that an intent may have become one that nobody can carry out, whose wait begins anew.
func (m *Machine) leavesAlone(p *peer, news bool) bool {
	seen := 0
	for _, d := range m.working {
		for it := d.first; it != nil && d.to == p && seen < m.cfg.Batch; it = it.next {
			switch seen++; {
			case it.waitsFor != p: // it has no wait at this coordinator
			case news && !m.affords(it):
				m.begins(&it.waits, 0)
			case m.hadItsTime(p, it):
				return true
			}
		}
	}
	return false
}

// affords reports whether an intent could be carried out by the ledger's own states.
func (m *Machine) affords(it *intent) bool {
	_, err := ask(m.cfg.Rules, domain.Call{Intent: it.name(m.cfg.Self), Payload: it.Payload}, m.cfg.Book)
	return err == nil
}

// hadItsTime reports whether a coordinator has not dispatched an intent for as long as it is waited for. One that has just started, or
// that could not use a grant, has longer.
func (m *Machine) hadItsTime(p *peer, it *intent) bool {
	return m.isOver(it.waits, m.patientFor()) && m.isOver(p.spared, m.patientFor()) && !m.shuns(p)
}

// ranOut judges a coordinator by a grant that it has used in vain, if nothing has landed by it since that was given.
func (m *Machine) ranOut(it *intent) {
	for _, g := range it.given {
		if p := m.peers[g.To]; p != nil && g.Assembled == it.dispatched && m.isOver(p.landed, m.cfg.Contract.Life+1) {
			m.leaveOut(p)
		}
	}
}

// leaveOut leaves a coordinator out by which nothing lands, for twice as long, and for longer each time until something does: perhaps
// nobody could have done more.
func (m *Machine) leaveOut(p *peer) {
	m.seesBehind(p)
	p.idle = m.now + m.penalty(p)
	p.idles++
	m.lose(p)
	m.do(Blame{Member: p.account, For: LandsNothing})
}

// penalty is for how long a coordinator is left out the next time.
func (m *Machine) penalty(p *peer) time.Duration { return m.cfg.Patience << min(p.idles+1, 8) }

// acquit holds nothing against a node any more.
func (m *Machine) acquit(p *peer) {
	m.recall(p)
	p.idle, p.idles, p.late, p.caught = 0, 0, false, 0
}

// serves ends a leave whose time is over: how often there was one stays.
func (m *Machine) serves(p *peer) {
	if p.idle > 0 && p.idle <= m.now {
		m.recall(p)
		p.idle = 0
	}
}

// recall moves back to a node what another one has since it was left out, as when a range turns: two that coordinate at once take each
// other's states, until the last of that is done.
func (m *Machine) recall(p *peer) {
	if p.idle == 0 {
		return
	}
	for _, d := range m.working {
		if d.moveAt == 0 && slices.Contains(d.avoid, p.account) {
			d.moveAt = m.now + m.cfg.MoveAfter
		}
	}
}

// isBehind reports whether a node itself speaks of a block that is long final here: what it builds on may be gone.
func (m *Machine) isBehind(p *peer) bool {
	said := m.final()
	if m.cfg.Said != nil {
		said = m.cfg.Said(p.account)
	}
	return said > 0 && said+manyBlocks < m.final()
}

// seesBehind notes that a node is behind that has work, or is left out.
func (m *Machine) seesBehind(p *peer) { p.late = p.late || m.now >= p.caught && m.isBehind(p) }

// catchesUp gives a node its time anew that was behind while it had work, and is not any more, also if it was left out for that.
// Otherwise it would have the work of others, and another node that of this one, long after the reason is gone: two that coordinate at
// once take each other's states. It may lie, so until something lands by it that is so once in as long as it would be left out.
func (m *Machine) catchesUp(p *peer) {
	m.recall(p)
	p.late, p.caught, p.idle = false, m.now+m.penalty(p), 0
	m.spare(p, 0)
}

// shuns reports whether a node is left out for what it has done, or has not. It is asked all the same if there is no other.
func (m *Machine) shuns(p *peer) bool { return p.idle > m.now || m.blames(p.account) }
