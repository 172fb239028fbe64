package sender

import (
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// pulse compares what a coordinator says that it has with what it should have (P7, P11).
func (m *Machine) pulse(in Pulse) {
	if m.work == nil || m.peers[in.From] == nil {
		return
	}
	p := m.peers[in.From]
	p.heard = m.now
	m.meet(p, in.Incarnation)
	if in.Pulse.Digest.Count > 0 { // it has what was sent to it
		p.failures, p.until = 0, 0
	} else if p.failures == 1 { // it is there; whether it hears this node is not known
		p.until = 0
	}
	if in.Pulse.Digest == p.digest {
		p.listWait = m.cfg.ListEvery
		return
	}
	if p.digest.Count > 0 {
		m.askList(p)
	}
}

// askList asks which intents a coordinator has. While some are always on their way the digests never agree: a list that
// shows nothing new doubles the pause to the next.
func (m *Machine) askList(p *peer) {
	if p.listSent > 0 && m.now-p.listSent < p.listWait || p.digest.Count == 0 {
		return
	}
	p.listSent, p.listWait = max(m.now, 1), min(2*p.listWait, longest)
	p.list = m.ask(p.account, wire.AskList{})
}

// listOf moves what a coordinator has forgotten. What it has accepted since it was asked may be missing in the list.
func (m *Machine) listOf(from ledger.Account, request wire.RequestID, body wire.List) {
	if m.work == nil || request.Incarnation != m.cfg.Incarnation || request.Number == 0 {
		return
	}
	p := m.peers[from]
	if p == nil || p.list != request.Number {
		return
	}
	p.list = 0
	has := make(map[ledger.Sequence]struct{}, len(body.Sequences))
	for _, s := range body.Sequences {
		has[s] = struct{}{}
	}
	for _, d := range m.working {
		if d.to != p {
			continue
		}
		for _, it := range d.all() {
			if _, is := has[it.Sequence]; is || it.since >= p.listSent {
				continue
			}
			if m.tell(it, happening{event: forgotten}); it.state == Waiting {
				p.listWait = m.cfg.ListEvery
			}
		}
	}
}
