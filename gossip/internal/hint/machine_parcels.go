package hint

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// A message is a parcel: statements (Said), each of a subject and signed by it, and what an exchange needs. It is paid for before it is decoded,
// by what its peer may cost in a round (purse). Then each statement is judged alone: a heartbeat in machine_hear.go, news in machine_news.go,
// a vote in machine_paper.go.
//
// An exchange repairs what was lost: one node tells a peer the names of what it has, and how far each goes (Mark). The peer answers with what
// it has later and the other lacks, and asks for what it lacks itself (Wants), which the first one then sends.

// peer is the other end of a connection.
type peer struct {
	Peer
	purse
}

// direct is the newest statement of a key that its subject itself has brought.
type direct struct {
	incarnation, sequence uint64
	at                    time.Duration
}

// peerFrom returns the peer that has sent something, or nil if there is none of that name.
func (m *Machine) peerFrom(name string) *peer {
	by := m.peers[name]
	if by == nil {
		m.noteRefusal(name, wire.Subject{}, ErrPeer)
	}
	return by
}

// paysFor is for how many bytes of a message one statement is paid, whether they have one or not.
const paysFor = 2 << 10

// readMessage takes a message. What the peer may cost is looked at first, since to decode is work.
func (m *Machine) readMessage(from string, body []byte) {
	by := m.peerFrom(from)
	if by == nil {
		return
	}
	paid := 1 + len(body)/paysFor
	if !by.takeCost(paid, m.now, m.cfg.Round) {
		m.tooMuch(by, &by.allowance, ErrFlood)
		return
	}
	p, err := wire.Decode(body)
	if err != nil {
		m.noteRefusal(from, wire.Subject{}, err)
		return
	}
	m.takeParcel(by, &p, paid)
}

// takeParcel takes a parcel, so many statements of which are paid for. Each is judged alone.
func (m *Machine) takeParcel(by *peer, p *wire.Parcel, paid int) {
	for i := range p.Said {
		if i >= paid && !by.takeCost(1, m.now, m.cfg.Round) {
			m.tooMuch(by, &by.allowance, ErrFlood)
			return
		}
		if err := m.takeStatement(by, &p.Said[i]); err != nil {
			m.noteRefusal(by.Name, p.Said[i].Subject, err)
		}
	}
	m.answerExchange(by, p)
}

// takeStatement takes a statement. An error means that it is refused; a copy of what is known, or of what is old, is no fault.
func (m *Machine) takeStatement(by *peer, s *wire.Said) error {
	if err := s.Check(); err != nil {
		return err
	}
	seat := m.seats[s.Namespace]
	switch {
	case seat == nil:
		return ErrNamespace
	case s.Subject == m.cfg.Self:
		return m.hearItself(seat, by, s)
	case s.Topic != "":
		return m.learnNews(by, s)
	case seat.paper != nil:
		return m.hearVote(seat, by, s)
	}
	return m.hearBeat(seat, by, s)
}

// relaySaid sends a statement on: once, on every connection but those of the peer that has brought it and of its subject.
func (m *Machine) relaySaid(to []*peer, by *peer, s wire.Said, made time.Duration) {
	names := make([]string, 0, len(to))
	for _, p := range to {
		if p != by && p.Subject != s.Subject {
			names = append(names, p.Name)
		}
	}
	if len(names) > 0 {
		m.addAction(Send{To: names, Parcel: wire.Parcel{Said: []wire.Said{m.withAge(s, made)}}})
	}
}

// goesBack judges a statement that is older than what is known. Copies overtake each other on the way, and a connection
// may stall. What a subject itself brings rounds after it has brought something later did not: its sequence goes back.
func (m *Machine) goesBack(by *peer, s *wire.Said, known *direct) error {
	if by.Subject == s.Subject && s.Incarnation == known.incarnation && s.Sequence < known.sequence && m.now > known.at+2*m.cfg.Round {
		return ErrBack
	}
	return nil
}

// noteDirect remembers what a subject itself has brought.
func (m *Machine) noteDirect(by *peer, s *wire.Said, known direct) direct {
	if by.Subject != s.Subject {
		return known
	}
	return direct{s.Incarnation, s.Sequence, m.now}
}

// hearItself takes a statement with this node's own key. An earlier start of it may have left one: then its incarnation
// was no higher than it should be, and is raised. What was said while this node runs was said by another host.
func (m *Machine) hearItself(s *seat, by *peer, said *wire.Said) error {
	if said.Incarnation == m.incarnation && said.Sequence <= m.sequence {
		return nil // its own, come back
	}
	if is, err := m.isVerified(by, said); !is {
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
		m.tellTwin(&s.own, beat.Host, m.cfg.Host)
		if said.Incarnation > m.incarnation && s.state.mayStand() {
			m.stepDown(s, ErrTwin) // the others hear that host, and not this one
			m.reviewSeat(s)
		}
	}
	return nil
}

// tellTwin tells of two hosts with one key, again as long as both run, and once in as many rounds as news is kept.
func (m *Machine) tellTwin(c *candidate, one, other string) {
	if m.now < c.twinQuiet {
		return
	}
	c.twinQuiet = m.now + keeps*m.cfg.Round
	m.addAction(Twin{Subject: c.said.Subject, Hosts: [2]string{min(one, other), max(one, other)}})
}

// most of what an answer holds, in bytes; what is left over comes with the next exchange.
const mostAnswer = 64 << 10

// askCost is how often a peer may ask in a round if it brings nothing: to ask costs little, and to answer much.
const askCost = 8

// exchangeIfDue tells one peer what is known here, and so finds out what was lost on the way.
func (m *Machine) exchangeIfDue() {
	if len(m.listed) == 0 || m.now-m.asked < m.exchangePause() {
		return
	}
	m.asked = m.now
	m.partner = (m.partner + 1) % len(m.listed)
	m.openExchange(m.listed[m.partner])
}

// exchangePause is the time between two exchanges. A node of the crowd that has begun a moment ago and names nobody asks in each round:
// if what its first peer had to say is lost, the leader's next word for the crowd is long to come.
func (m *Machine) exchangePause() time.Duration {
	if m.now-m.began < soon*exchanges*m.cfg.Round && slices.ContainsFunc(m.order, (*seat).lacksLeader) {
		return m.cfg.Round
	}
	return exchanges * m.cfg.Round
}

// openExchange begins an exchange.
func (m *Machine) openExchange(p *peer) {
	marks := make([]wire.Mark, 0, 8)
	for _, k := range m.stockToTell() {
		if len(marks) < wire.MostMarks {
			marks = append(marks, wire.Mark{Name: k.name, Incarnation: k.said.Incarnation, Sequence: k.said.Sequence})
		}
	}
	m.addAction(Send{To: []string{p.Name}, Parcel: wire.Parcel{Opening: true, Marks: marks}})
}

// stocked is a statement that is kept to be told.
type stocked struct {
	said wire.Said
	name wire.Name
	made time.Duration
}

// stockToTell returns what this node can tell: valid heartbeats, then news that is not too old, the youngest first.
func (m *Machine) stockToTell() (all []stocked) {
	m.forgetNews()
	for _, s := range m.order {
		for _, c := range s.sortedCandidates() {
			if m.isFresh(s, c) && s.paper == nil && (s.isOpen() || c.beat.Leads || c.beat.Wide) {
				all = append(all, stocked{c.said, c.name, c.made})
			}
		}
		if s.paper == nil && s.own.said.Sequence > 0 && (s.isOpen() && s.beating || s.own.beat.Leads) {
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

// answerExchange does a peer's part of an exchange: it sends what the peer lacks, and asks for what this node lacks.
func (m *Machine) answerExchange(by *peer, p *wire.Parcel) {
	if !p.Opening && len(p.Wants) == 0 {
		return
	}
	if !by.takeCost(m.cfg.flood/askCost, m.now, m.cfg.Round) {
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
	for _, k := range m.stockToTell() {
		mark, has := marks[k.name]
		delete(marks, k.name) // what is left in the end, this node has not
		later := !has || k.said.Later(mark.Incarnation, mark.Sequence)
		same := k.said.Incarnation == mark.Incarnation && k.said.Sequence == mark.Sequence
		if p.Opening && !later && !same { // the peer has a later one
			reply.Wants = append(reply.Wants, k.name)
		}
		if (p.Opening && later || wanted[k.name]) && len(reply.Said) < wire.MostSaid && size < mostAnswer {
			size += len(k.said.Body) + 200
			reply.Said = append(reply.Said, m.withAge(k.said, k.made))
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
		m.addAction(Send{To: []string{by.Name}, Parcel: reply})
	}
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
