package gossip

import (
	"errors"
	"math"
	"time"

	"github.com/conchhq/conch/gossip/wire"
)

// from returns the peer that has sent something, or nil if there is none of that name.
func (m *Machine) from(name string) *peer {
	by := m.peers[name]
	if by == nil {
		m.refuse(name, wire.Subject{}, ErrPeer)
	}
	return by
}

// paysFor is for how many bytes of a message one statement is paid, whether they have one or not.
const paysFor = 2 << 10

// read takes a message. What the peer may cost is looked at first, since to decode is work.
func (m *Machine) read(from string, body []byte) {
	by := m.from(from)
	if by == nil {
		return
	}
	paid := 1 + len(body)/paysFor
	if !by.takes(paid, m.now, m.cfg.Round) {
		m.tooMuch(by, &by.allowance, ErrFlood)
		return
	}
	p, err := wire.Decode(body)
	if err != nil {
		m.refuse(from, wire.Subject{}, err)
		return
	}
	m.receive(by, &p, paid)
}

// receive takes a parcel, so many statements of which are paid for. Each is judged alone.
func (m *Machine) receive(by *peer, p *wire.Parcel, paid int) {
	for i := range p.Said {
		if i >= paid && !by.takes(1, m.now, m.cfg.Round) {
			m.tooMuch(by, &by.allowance, ErrFlood)
			return
		}
		if err := m.take(by, &p.Said[i]); err != nil {
			m.refuse(by.Name, p.Said[i].Subject, err)
		}
	}
	m.answer(by, p)
}

// relay sends a statement on: once, on every connection but those of the peer that has brought it and of its subject.
func (m *Machine) relay(to []*peer, by *peer, s wire.Said, made time.Duration) {
	names := make([]string, 0, len(to))
	for _, p := range to {
		if p != by && p.Subject != s.Subject {
			names = append(names, p.Name)
		}
	}
	if len(names) > 0 {
		m.do(Send{To: names, Parcel: wire.Parcel{Said: []wire.Said{m.aged(s, made)}}})
	}
}

// take takes a statement. An error means that it is refused; a copy of what is known, or of what is old, is no fault.
func (m *Machine) take(by *peer, s *wire.Said) error {
	if err := s.Check(); err != nil {
		return err
	}
	seat := m.seats[s.Namespace]
	switch {
	case seat == nil:
		return ErrNamespace
	case s.Subject == m.cfg.Self:
		return m.mirrored(seat, by, s)
	case s.Topic != "":
		return m.learn(by, s)
	case seat.paper != nil:
		return m.hearVote(seat, by, s)
	}
	return m.hear(seat, by, s)
}

// learn takes news: what is later than what is known is told and relayed.
func (m *Machine) learn(by *peer, said *wire.Said) error {
	key := said.Key()
	old := m.news[key]
	if old != nil && !said.Later(old.said.Incarnation, old.said.Sequence) {
		return m.goesBack(by, said, &old.direct)
	}
	if int(said.Age) > keeps || old == nil && m.known.knows(said) {
		return nil
	}
	if m.full(key) {
		return ErrTopics
	}
	if !m.telling.has(1, m.now, m.cfg.Round) { // a relay has to bring less than its peers take of it
		m.tooMuch(by, &m.telling, ErrNews)
		return nil
	}
	if is, err := m.verified(by, said); !is {
		return err
	}
	m.telling.takes(1, m.now, m.cfg.Round)
	n := m.place(key)
	n.said, n.made, n.direct = *said, m.madeAt(said), m.noted(by, said, n.direct)
	m.do(Heard{Statement: said.Statement, Age: said.Age, Via: by.Name})
	m.relay(m.listed, by, n.said, n.made)
	return nil
}

// goesBack judges a statement that is older than what is known. Copies overtake each other on the way, and a connection
// may stall. What a subject itself brings rounds after it has brought something later did not: its sequence goes back.
func (m *Machine) goesBack(by *peer, s *wire.Said, known *direct) error {
	if by.Subject == s.Subject && s.Incarnation == known.incarnation && s.Sequence < known.sequence && m.now > known.at+2*m.cfg.Round {
		return ErrBack
	}
	return nil
}

// noted remembers what a subject itself has brought.
func (m *Machine) noted(by *peer, s *wire.Said, known direct) direct {
	if by.Subject != s.Subject {
		return known
	}
	return direct{s.Incarnation, s.Sequence, m.now}
}

// publish has this node say something.
func (m *Machine) publish(in Publish) {
	s := m.seats[in.Namespace]
	switch {
	case s == nil || in.Topic == "":
		m.refuse("", m.cfg.Self, ErrNamespace)
		return
	case m.full(wire.Key{Subject: m.cfg.Self, Namespace: in.Namespace, Topic: in.Topic}):
		m.refuse("", m.cfg.Self, ErrTopics)
		return
	}
	said := m.say(in.Namespace, in.Topic, in.Body)
	if err := said.Check(); err != nil {
		m.refuse("", m.cfg.Self, err)
		return
	}
	n := m.place(said.Key())
	n.said, n.made = said, m.now
	m.relay(m.listed, nil, said, m.now)
}

// mirrored takes a statement with this node's own key. An earlier start of it may have left one: then its incarnation
// was no higher than it should be, and is raised. What was said while this node runs was said by another host.
func (m *Machine) mirrored(s *seat, by *peer, said *wire.Said) error {
	if said.Incarnation == m.incarnation && said.Sequence <= m.sequence {
		return nil // its own, come back
	}
	if is, err := m.verified(by, said); !is {
		return err
	}
	if m.madeAt(said) <= m.began+remembers*s.valid && said.Incarnation < math.MaxUint64 {
		if said.Incarnation >= m.incarnation {
			m.incarnation, m.sequence = said.Incarnation+1, 0
		}
		return nil
	}
	if beat, err := wire.ReadHeartbeat(said.Body); err == nil && said.Topic == "" { // its heartbeats tell where it runs
		if said.Incarnation < m.incarnation && beat.Host == m.cfg.Host {
			return nil // this node may have said so in a life before, and anybody may bring it again
		}
		m.twin(&s.own, beat.Host, m.cfg.Host)
		if said.Incarnation > m.incarnation && s.state.stands() {
			m.stepDown(s, ErrTwin) // the others hear that host, and not this one
			m.review(s)
		}
	}
	return nil
}

// twin tells of two hosts with one key, again as long as both run, and once in as many rounds as news is kept.
func (m *Machine) twin(c *candidate, one, other string) {
	if m.now < c.named {
		return
	}
	c.named = m.now + keeps*m.cfg.Round
	m.do(Twin{Subject: c.said.Subject, Hosts: [2]string{min(one, other), max(one, other)}})
}

// kinds are the errors by which refusals are counted.
var kinds = []error{
	ErrSignature, ErrBack, ErrElector, ErrFlood, ErrNews, ErrNamespace, ErrTopics, ErrPeer, ErrLastReign,
	wire.ErrMalformed, wire.ErrVersion, wire.ErrSize, wire.ErrAge, wire.ErrReign,
}

// kindOf returns the sentinel of an error.
func kindOf(err error) error {
	for _, k := range kinds {
		if errors.Is(err, k) {
			return k
		}
	}
	return wire.ErrMalformed
}
