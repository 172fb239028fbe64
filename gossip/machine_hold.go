package gossip

import (
	"bytes"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/wire"
)

// held is a statement that is to be relayed.
type held struct {
	said wire.Said
	made time.Duration
	to   []*peer
}

// relay sends a statement on: once, on every connection but those of the peer that has brought it and of its subject. While parcels
// are read together it leaves when all are; of the news under one key the last word alone does.
func (m *Machine) relay(to []*peer, by *peer, s wire.Said, made time.Duration) {
	h := held{said: s, made: made, to: make([]*peer, 0, len(to))}
	for _, p := range to {
		if p != by && p.Subject != s.Subject {
			h.to = append(h.to, p)
		}
	}
	if s.Topic != "" {
		m.outdate(&h)
	}
	m.held = append(m.held, h)
	if !m.gathers {
		m.release()
	}
}

// outdate leaves out what news replaces that is held, where both would go.
func (m *Machine) outdate(by *held) {
	for i := range m.held {
		h := &m.held[i]
		if h.said.Subject == by.said.Subject && h.said.Topic == by.said.Topic && h.said.Namespace == by.said.Namespace {
			h.to = slices.DeleteFunc(h.to, func(p *peer) bool { return slices.Contains(by.to, p) })
		}
	}
}

// together takes parcels that waited at one time.
func (m *Machine) together(all []Received) {
	m.gathers = true
	for i := range all {
		m.receive(all[i].From, &all[i].Parcel)
	}
	m.gathers = false
	m.release()
}

// spare leaves the peer out that has just brought a statement which is held. A copy counts as one with the same signature alone: of
// two hosts with one key each says something else under a number.
func (m *Machine) spare(by *peer, s *wire.Said) {
	for i := range m.held {
		h := &m.held[i]
		if h.said.Sequence == s.Sequence && h.said.Incarnation == s.Incarnation && h.said.Subject == s.Subject && bytes.Equal(h.said.Signature, s.Signature) {
			h.to = slices.DeleteFunc(h.to, func(p *peer) bool { return p == by })
		}
	}
}

// release sends what is held.
func (m *Machine) release() {
	for _, h := range m.held {
		names := make([]string, 0, len(h.to))
		for _, p := range h.to {
			names = append(names, p.Name)
		}
		if len(names) > 0 {
			m.do(Send{To: names, Parcel: wire.Parcel{Said: []wire.Said{m.aged(h.said, h.made)}}})
		}
	}
	clear(m.held)
	m.held = m.held[:0]
}
