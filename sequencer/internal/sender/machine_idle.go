package sender

import (
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Nobody can know what a coordinator waits for that beats and asks and answers: perhaps it lies. So one that dispatches nothing of
// what it was given has its time, and then another one has the work.

// fewestBlocks is how many blocks a coordinator has at least, as what it builds on may have to be in one first.
const fewestBlocks = 8

// patientFor is for how many blocks a coordinator is waited for at least: for longer than what it has inherited locks its states there.
// Else each one after it would be left too, and inherit the same.
func (m *Machine) patientFor() uint64 {
	return max(fewestBlocks, m.cfg.Contract.Life/2+m.cfg.Contract.Depth+2)
}

// givesTime begins the time of a coordinator.
func (m *Machine) givesTime(p *peer) { p.since, p.from = max(m.now, 1), m.head }

// goesOn begins the time of a coordinator anew that has done something, or could not.
func (m *Machine) goesOn(p *peer) {
	if p.went = m.now; p.since > 0 {
		m.givesTime(p)
	}
}

// manyBlocks come between two ticks only when this node was behind.
const manyBlocks = 4

// forgive takes back what was held against others while this node was behind: no coordinator can use a grant of long ago.
func (m *Machine) forgive() {
	for _, p := range m.listed {
		p.idle, p.idles = 0, 0
		m.goesOn(p)
	}
}

// comesBack goes on with the time of a coordinator that gives work back which comes to it again and again: it has it from the first
// time on.
func (m *Machine) comesBack(r rest) {
	p := r.by
	if p == nil || r.since <= p.went || p.since > 0 && p.since <= r.since {
		return
	}
	if p.since = r.since; m.hadItsTime(p) {
		m.judgeIdle(p, m.affords(r.it))
	}
}

// landedBy ends what is held against the coordinators by which an attempt may have landed.
func (m *Machine) landedBy(it *intent, assembled ledger.Hash) {
	for _, g := range it.given {
		if p := m.peers[g.to]; p != nil && g.Assembled == assembled {
			p.idle, p.idles = 0, 0
			m.goesOn(p)
		}
	}
}

// hadItsTime reports whether a coordinator has done nothing for as long as it is waited for. One that
// has just started, or that could not use a grant, has longer.
func (m *Machine) hadItsTime(p *peer) bool {
	return p.since > 0 && m.now >= p.excused && m.now-p.since >= m.cfg.Patience && m.head >= p.from+m.patientFor() && !m.shuns(p)
}

// judgeIdle leaves a coordinator out that has had its time, for twice as long, and for longer each time until something lands by
// it: perhaps nobody could have done more. If none of what it has can be carried out, it has its time anew.
func (m *Machine) judgeIdle(p *peer, undone bool) {
	if !undone {
		m.givesTime(p)
		return
	}
	p.idles++
	p.idle = m.now + m.cfg.Patience<<min(p.idles, 8)
	m.lose(p)
	m.do(Blame{Member: p.account, For: LandsNothing})
}

// shuns reports whether a node is left out for what it has done, or has not. It is asked all the same if there is no other.
func (m *Machine) shuns(p *peer) bool { return p.idle > m.now || m.blames(p.account) }

// leavesUndone reports whether a coordinator has an intent that could go on, by what this node knows. Of those that it has asked for
// in vain, as many are tried as are in one request.
func (m *Machine) leavesUndone(p *peer) bool {
	tried := 0
	for _, d := range m.working {
		for it := d.first; it != nil && d.to == p && tried < m.cfg.Batch; it = it.next {
			switch {
			case it.state == Delegated || it.attempt == nil && it.poor:
			case it.attempt != nil || m.affords(it):
				return true
			default:
				tried++
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
