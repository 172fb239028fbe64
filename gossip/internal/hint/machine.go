package hint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/internal/splitmix"
)

// Machine is one node of an overlay, in all its namespaces. It is pure, and not safe for concurrent use.
type Machine struct {
	cfg         Config
	now         time.Duration
	ticked      time.Duration // the last Tick, or an input that came more than a round after it
	began       time.Duration
	started     bool
	incarnation uint64
	sequence    uint64
	chance      splitmix.Source

	peers  map[string]*peer
	listed []*peer          // sorted by name
	gone   map[string]purse // of peers that are, until it is whole again
	seats  map[string]*seat
	order  []*seat

	news    map[wire.Key]*news
	known   memory // of news that is not kept any more
	topics  map[wire.Subject]int
	telling allowance     // for news of all peers together
	asked   time.Duration // the last exchange
	partner int           // of listed: the next one
	refused map[error]int

	out []Action
}

// New returns a machine. The configuration must be valid.
func New(c Config) *Machine {
	c = c.withDefaults()
	m := &Machine{
		cfg: c, incarnation: c.Incarnation, chance: splitmix.Source(c.Seed), peers: map[string]*peer{}, seats: map[string]*seat{},
		gone: map[string]purse{}, news: map[wire.Key]*news{}, topics: map[wire.Subject]int{}, refused: map[error]int{},
		telling: newAllowance(freshNews, mostTold, 0),
	}
	for _, n := range c.Namespaces {
		s := newSeat(&m.cfg, n)
		m.seats[n.Name] = s
		m.order = append(m.order, s)
	}
	return m
}

// Step takes an input at an instant of a clock that never goes back, and returns what to do.
func (m *Machine) Step(now time.Duration, in Input) []Action {
	m.now = now
	if !m.started {
		m.startSeats()
	}
	m.noteWake()
	switch in := in.(type) {
	case Tick:
		m.passTime()
	case Arcs:
		m.takeArcs(in.Peers)
	case Message:
		m.readMessage(in.From, in.Body)
	case Received:
		if by := m.peerFrom(in.From); by != nil {
			m.takeParcel(by, &in.Parcel, 0)
		}
	case Publish:
		m.publishNews(in)
	case Seniority:
		if s := m.seats[in.Namespace]; s != nil {
			s.own.beat.Seniority = in.Value
		}
	case Withdraw:
		if s := m.seats[in.Namespace]; s != nil {
			why := ErrWithdrawn
			if in.Why != "" {
				why = fmt.Errorf("%w: %s", why, in.Why)
			}
			m.stepDown(s, why)
			m.reviewSeat(s)
		}
	case Return:
		if s := m.seats[in.Namespace]; s != nil {
			s.withdrawn, s.withdraws = m.now, 0
			m.reviewSeat(s)
		}
	}
	out := m.out
	m.out = nil
	return out
}

// startSeats begins everybody's listening.
func (m *Machine) startSeats() {
	m.started, m.began, m.ticked, m.asked = true, m.now, m.now, m.now
	for _, s := range m.order {
		s.heard = m.now - s.valid - 1
		s.beatAt, s.wideAt, s.stood = m.now, m.now, m.now
		m.startListening(s)
		if s.paper != nil {
			s.paper.beginRound(m.now)
		}
	}
}

// noteWake notes that this node stood still: it does not know what became of the others. The first input after that may be a
// message that waited, and says little.
func (m *Machine) noteWake() {
	for _, s := range m.order {
		if s.paper == nil && m.stoodStill(s) {
			m.startListening(s)
			s.hearing = m.now
		}
	}
	if m.now-m.ticked > m.cfg.Round {
		m.ticked = m.now
	}
}

// stoodStill reports whether time has passed, and this node with it, until it can no longer speak of what it hears.
func (m *Machine) stoodStill(s *seat) bool {
	switch {
	case s.paper != nil:
		return m.now-s.paper.begins > s.cfg.Paper.validFor()
	case s.state == Back || s.state == Bystander:
		return false
	}
	return m.now-m.ticked > s.valid/2
}

// passTime does what time alone does.
func (m *Machine) passTime() {
	m.ticked = m.now
	for _, s := range m.order {
		if s.paper != nil {
			m.voteInRound(s)
			continue
		}
		m.lapseBeats(s)
		m.reviewSeat(s)
		m.beatIfDue(s)
	}
	m.forgetNews()
	m.exchangeIfDue()
}

// takeArcs takes the peers to which there are connections. What is new is asked at once: a newcomer knows in two rounds what
// all others know.
func (m *Machine) takeArcs(all []Peer) {
	now := map[string]*peer{}
	var fresh []*peer
	for _, a := range all {
		p, was := m.peers[a.Name]
		if !was {
			p = m.peerComes(a.Name)
		}
		if !was || p.Since != a.Since {
			fresh = append(fresh, p)
		}
		p.Peer = a
		now[a.Name] = p
	}
	m.peersGo(now)
	m.peers, m.listed = now, m.listed[:0]
	for _, p := range now {
		m.listed = append(m.listed, p)
	}
	slices.SortFunc(m.listed, func(a, b *peer) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range m.order {
		s.mesh = nil
		for _, p := range m.listed {
			if s.elector[p.Subject] {
				s.mesh = append(s.mesh, p)
			}
		}
		if s.paper == nil {
			m.reviewSeat(s)
		}
	}
	slices.SortFunc(fresh, func(a, b *peer) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range fresh {
		m.openExchange(p)
	}
}

// peerComes returns a peer that is new, or has come again.
func (m *Machine) peerComes(name string) *peer {
	if left, was := m.gone[name]; was {
		return &peer{purse: left}
	}
	return &peer{purse: m.newPurse()}
}

// peersGo keeps what those that are no peers any more have left of their allowances: to connect once more pays for nothing. What time has
// paid for is forgotten.
func (m *Machine) peersGo(now map[string]*peer) {
	for name, p := range m.peers {
		m.gone[name] = p.purse
	}
	maps.DeleteFunc(m.gone, func(name string, left purse) bool {
		return now[name] != nil || left.isWhole(m.now, m.cfg.Round)
	})
}

func (m *Machine) addAction(a Action) { m.out = append(m.out, a) }

// noteRefusal counts what is left out, and names its sender.
func (m *Machine) noteRefusal(from string, subject wire.Subject, why error) {
	m.refused[kindOf(why)]++
	m.addAction(Refused{From: from, Subject: subject, Why: why})
}

// signStatement makes a statement of this node. Its sequence is new.
func (m *Machine) signStatement(namespace, topic string, body []byte) wire.Said {
	m.sequence++
	s := wire.Said{Statement: wire.Statement{
		Subject: m.cfg.Self, Incarnation: m.incarnation, Sequence: m.sequence, Namespace: namespace, Topic: topic, Body: body,
	}}
	s.Signature = m.cfg.Scheme.Sign(s.Signed())
	return s
}

// madeAt returns when a statement that arrives now was said, by its age.
func (m *Machine) madeAt(s *wire.Said) time.Duration {
	return m.now - time.Duration(s.Age)*m.cfg.Round
}

// withAge returns a statement as it leaves now. Its age is rounded up: an age that errs makes nobody younger.
func (m *Machine) withAge(s wire.Said, made time.Duration) wire.Said {
	s.Age = int32(min(max((m.now-made+m.cfg.Round-1)/m.cfg.Round, 0), wire.MostAge))
	return s
}
