package gossip

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/wire"
)

// most of what an answer holds, in bytes; what is left over comes with the next exchange.
const mostAnswer = 64 << 10

// askCost is how often a peer may ask in a round if it brings nothing: to ask costs little, and to answer much.
const askCost = 8

// exchange tells one peer what is known here, and so finds out what was lost on the way.
func (m *Machine) exchange() {
	if len(m.listed) == 0 || m.now-m.asked < m.pause() {
		return
	}
	m.asked = m.now
	m.partner = (m.partner + 1) % len(m.listed)
	m.open(m.listed[m.partner])
}

// pause is the time between two exchanges. A node of the crowd that has begun a moment ago and names nobody asks in each round:
// if what its first peer had to say is lost, the leader's next word for the crowd is long to come.
func (m *Machine) pause() time.Duration {
	if m.now-m.began < soon*exchanges*m.cfg.Round && slices.ContainsFunc(m.order, (*seat).lacks) {
		return m.cfg.Round
	}
	return exchanges * m.cfg.Round
}

// open begins an exchange.
func (m *Machine) open(p *peer) {
	marks := make([]wire.Mark, 0, 8)
	for _, k := range m.stock() {
		if len(marks) < wire.MostMarks {
			marks = append(marks, wire.Mark{Name: k.name, Incarnation: k.said.Incarnation, Sequence: k.said.Sequence})
		}
	}
	m.do(Send{To: []string{p.Name}, Parcel: wire.Parcel{Opening: true, Marks: marks}})
}

// stocked is a statement that is kept to be told.
type stocked struct {
	said wire.Said
	name wire.Name
	made time.Duration
}

// stock returns what this node can tell: valid heartbeats, and news that is not too old. The younger comes first.
func (m *Machine) stock() (all []stocked) {
	m.forget()
	for _, s := range m.order {
		for _, c := range s.sorted() {
			if m.fresh(s, c) && (s.open() || c.beat.Leads || c.beat.Wide) {
				all = append(all, stocked{c.said, c.name, c.made})
			}
		}
		if s.own.said.Sequence > 0 && (s.open() && s.beating || s.own.beat.Leads) {
			all = append(all, stocked{s.own.said, s.own.name, s.own.made})
		}
	}
	from := len(all)
	for _, n := range m.news {
		all = append(all, stocked{n.said, n.name, n.made})
	}
	slices.SortFunc(all[from:], func(a, b stocked) int {
		return cmp.Or(cmp.Compare(b.made, a.made), slices.Compare(a.name[:], b.name[:]))
	})
	return all
}

// answer does a peer's part of an exchange: it sends what the peer lacks, and asks for what this node lacks.
func (m *Machine) answer(by *peer, p *wire.Parcel) {
	if !p.Opening && len(p.Wants) == 0 {
		return
	}
	if !by.takes(m.cfg.flood/askCost, m.now, m.cfg.Round) {
		m.tooMuch(by, &by.allowance, ErrFlood)
		return
	}
	var reply wire.Parcel
	marks := map[wire.Name]wire.Mark{}
	for _, mark := range p.Marks {
		marks[mark.Name] = mark
	}
	wanted := map[wire.Name]bool{}
	for _, n := range p.Wants {
		wanted[n] = true
	}
	size := 0
	for _, k := range m.stock() {
		mark, has := marks[k.name]
		delete(marks, k.name)
		later := k.said.Later(mark.Incarnation, mark.Sequence)
		if p.Opening && has && !later && (k.said.Incarnation != mark.Incarnation || k.said.Sequence != mark.Sequence) {
			reply.Wants = append(reply.Wants, k.name)
		}
		if (p.Opening && (!has || later) || wanted[k.name]) && len(reply.Said) < wire.MostSaid && size < mostAnswer {
			size += len(k.said.Body) + 200
			reply.Said = append(reply.Said, m.aged(k.said, k.made))
		}
	}
	if p.Opening {
		for _, mark := range p.Marks { // in the peer's order
			if _, lacks := marks[mark.Name]; lacks && len(reply.Wants) < wire.MostMarks {
				reply.Wants = append(reply.Wants, mark.Name)
			}
		}
	}
	if len(reply.Said) > 0 || len(reply.Wants) > 0 {
		m.do(Send{To: []string{by.Name}, Parcel: reply})
	}
}

// forget drops news that is too old to be told. That it was heard is known for as long again: ages at two nodes differ by
// the way, so a peer may still tell what this node does not, and would be heard twice. It comes before each use of what is kept: a
// node of the crowd has few Ticks.
func (m *Machine) forget() {
	for key, n := range m.news {
		if m.now-n.made > keeps*m.cfg.Round {
			m.drop(key)
		}
	}
}

// drop keeps news no more, and remembers that it was here.
func (m *Machine) drop(key wire.Key) {
	n := m.news[key]
	m.known.note(n.name, life{n.said.Incarnation, n.said.Sequence}, m.now, 2*keeps*m.cfg.Round)
	if m.topics[key.Subject]--; m.topics[key.Subject] <= 0 {
		delete(m.topics, key.Subject)
	}
	delete(m.news, key)
}

// full reports whether a subject has too many topics for one more.
func (m *Machine) full(key wire.Key) bool {
	if m.topics[key.Subject] < MostTopics-m.lent(key) {
		return false
	}
	m.forget()
	return m.news[key] == nil && m.topics[key.Subject] >= MostTopics-m.lent(key)
}

// lent returns how much of this node's room a topic has to leave to those that are reserved.
func (m *Machine) lent(key wire.Key) (topics int) {
	if key.Subject != m.cfg.Self {
		return 0
	}
	for _, name := range m.cfg.Reserved {
		r := wire.Key{Subject: m.cfg.Self, Namespace: m.cfg.Namespaces[0].Name, Topic: name}
		switch {
		case r == key:
			return 0
		case m.news[r] == nil:
			topics++
		}
	}
	return topics
}

// place returns where news under a key is kept, and makes room for it.
func (m *Machine) place(key wire.Key) *news {
	n := m.news[key]
	if n == nil {
		m.makeRoom()
		n = &news{name: key.Name()}
		m.news[key] = n
		m.topics[key.Subject]++
	}
	return n
}

// makeRoom drops the oldest news if there is too much.
func (m *Machine) makeRoom() {
	if len(m.news) < mostNews {
		return
	}
	var oldest wire.Key
	made := m.now + 1
	for key, n := range m.news {
		if n.made < made || n.made == made && slices.Compare(key.Subject[:], oldest.Subject[:]) < 0 {
			oldest, made = key, n.made
		}
	}
	m.drop(oldest)
}
