package coordinator

import (
	"cmp"
	"slices"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// tick does what is due by the clock.
func (m *Machine) tick() {
	m.overdue()
	m.tellAgain()
	m.nudge()
	m.review()
	if len(m.tenure.waits) > 0 && m.now < m.tenure.holds && m.now >= m.tenure.askedAt+m.set.Silence {
		m.pull()
	}
	for a, at := range m.lesser {
		if m.now > at+2*m.set.Silence {
			delete(m.lesser, a)
		}
	}
	m.beat()
	m.changedReady = true
}

// beat says to each member that has work here, and to those that come before this node, that it coordinates, and what
// it has (P7). A coordinator that comes after this node is told that this node is there (P10). Without work there is
// no heartbeat (I9).
func (m *Machine) beat() {
	if m.now < m.beatAt+m.set.Beat {
		return
	}
	m.beatAt = m.now
	coordinates := false
	for _, c := range m.order {
		coordinates = coordinates || c.digest.Count > 0
	}
	for _, one := range m.members {
		var digest wire.Digest
		if c := m.clients[one.account]; c != nil {
			digest = c.digest
		}
		_, lesser := m.lesser[one.account]
		better := coordinates && m.precedes(m.own(), one.account, m.set.Self)
		if digest.Count == 0 && !lesser && !better || one.account == m.set.Self && digest.Count == 0 {
			continue
		}
		m.do(Pulse{To: one.account, Pulse: wire.Pulse{Contract: m.set.Contract.Address, Height: m.final(), Range: m.tenure.rng, Works: coordinates, Digest: digest}})
	}
}

// heard takes another coordinator's heartbeat.
func (m *Machine) heard(from ledger.Account, works bool) {
	if from == m.set.Self || m.memberOf(from) == nil {
		return
	}
	m.awake(from)
	switch {
	case !m.set.Committee.Has(string(from)):
	case m.precedes(m.own(), m.set.Self, from):
		if works && !m.drained { // a word that it is there would have the other one give its work back
			m.lesser[from] = m.now
		}
	default:
		m.close(from)
	}
}

// list tells a sender what is here of its own (P11).
func (m *Machine) list(from ledger.Account) wire.Body {
	var list wire.List
	var works []*work
	if c := m.clients[from]; c != nil {
		for _, w := range c.works {
			if w.state != included {
				works = append(works, w)
			}
		}
	}
	slices.SortFunc(works, func(a, b *work) int { return cmp.Compare(a.order, b.order) })
	for _, w := range works {
		list.Sequences = append(list.Sequences, w.Sequence)
	}
	return list
}

// pump asks for what can be asked for now.
func (m *Machine) pump() {
	m.assemble()
	m.askMembers()
	if m.changedReady {
		m.changedReady = false
		m.grant()
	}
}
