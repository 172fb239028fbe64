package sender

import (
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// longest is the longest pause between two tries of anything.
const longest = 30 * time.Second

// peer returns what is known of a node.
func (m *Machine) peer(a ledger.Account) *peer {
	p := m.peers[a]
	if p == nil {
		p = &peer{account: a, heard: m.now, listWait: m.cfg.ListEvery}
		m.peers[a] = p
		m.listed = append(m.listed, p)
	}
	return p
}

// choice returns the first of the order of the own range that is not left out, and those before it (P8, P31). One that was
// blamed or idle comes after all others. It is nil if nobody answers.
func (m *Machine) choice() (to *peer, avoid []ledger.Account) {
	if r := m.cfg.Committee.RangeOf(m.final()); m.order == nil || r != m.ordered {
		m.order, m.ordered = nil, r
		for _, name := range m.cfg.Committee.Order(r) {
			m.order = append(m.order, ledger.Account(name))
		}
	}
	for _, shunned := range []bool{false, true} {
		for i, a := range m.order {
			if p := m.peer(a); p.until <= m.now && m.shuns(p) == shunned {
				return p, m.order[:i]
			}
		}
	}
	return nil, nil
}

// another returns the first that is not left out and has not said yet that the members refuse an intent, and those before it;
// nil if there is none.
func (m *Machine) another(it *intent) (to *peer, avoid []ledger.Account) {
	for i, a := range m.order {
		if p := m.peer(a); p.until <= m.now && !m.shuns(p) && !slices.Contains(it.refusers, p) {
			return p, m.order[:i]
		}
	}
	return nil, nil
}

// believe reports whether it counts that the intent's coordinator says that the members refuse the intent. Nobody can prove that,
// so the word of each coordinator counts once, as long as there is another one to ask.
func (m *Machine) believe(it *intent) bool {
	if !slices.Contains(it.refusers, it.with) {
		it.refusers = append(it.refusers, it.with)
		return true
	}
	to, _ := m.another(it)
	return to == nil
}

// fail leaves a node out for a while, longer each time.
func (m *Machine) fail(p *peer) {
	p.failures++
	p.since = 0
	p.until = m.now + min(m.cfg.AckTimeout<<min(p.failures-1, 16), longest)
}

// hear notes a message. A request or an answer shows that the node hears this one too; a beat may not.
func (m *Machine) hear(p *peer, msg wire.Message) {
	p.heard = m.now
	if msg.Request.Number == 0 {
		return
	}
	if _, refuses := msg.Body.(wire.Rejected); !refuses {
		p.failures, p.until = 0, 0
	}
	switch msg.Body.(type) {
	case wire.Assemble, wire.AskGrant, wire.Dispatched: // an answer has the incarnation of the node that has asked, perhaps an earlier one of this node
		m.meet(p, msg.Request.Incarnation)
	}
}

// meet notes the incarnation of a node. A new one has nothing in memory of what the last had: what it was not granted
// moves, and for the rest it is asked.
func (m *Machine) meet(p *peer, i wire.Incarnation) {
	if i == p.incarnation || i == p.former || i == (wire.Incarnation{}) {
		return
	}
	first := p.incarnation == wire.Incarnation{}
	p.former, p.incarnation = p.incarnation, i
	if first {
		return
	}
	for _, d := range m.working {
		if d.to != p {
			continue
		}
		for _, it := range d.all() {
			if it.state == Accepted || it.state == Granting {
				m.tell(it, happening{event: lost})
			}
		}
	}
	m.goesOn(p)
	p.excused = max(p.excused, m.now+2*m.cfg.Patience) // what it has stored is judged first, when it has followed the ledger
	m.askList(p)
}

// lose moves all that a silent node has not dispatched.
func (m *Machine) lose(p *peer) {
	m.fail(p)
	for _, d := range m.working {
		if d.to == p {
			m.close(d)
			for _, it := range d.all() {
				m.tell(it, happening{event: lost})
			}
		}
	}
}
