package overlay

import (
	"slices"

	"github.com/conchhq/conch/internal/splitmix"
)

// Machine is one node's place in the overlay. It is pure, and not safe for concurrent use.
type Machine struct {
	cfg    Config
	chance splitmix.Source

	tick     int
	periodAt int // the tick of the next exchange
	periods  int
	number   uint64 // of the last message that had one
	left     bool

	view  view
	peers []*peer // that have a connection or are to get one, by name
	cache memory
	lost  memory // peers that went away and did not say goodbye

	answers   []answer    // to exchanges, the newest last, one for each peer
	flight    *flight     // the exchange that waits for its answer
	visit     string      // the peer that was lost and is tried again
	grown     growth      // since the last exchange
	usual     usual       // arcs of the view
	presented []presented // in this period
	joined    bool        // a contact has answered
	founder   bool        // somebody has joined by this node when it had no arcs
	join      *joining    // the contact that is asked
	tried     []string    // those that were asked in vain since the last pause
	hints     []Peer      // that one of them has named
	joinAt    int         // the tick of the next try
	pause     int         // ticks before the try after that

	welcome []string // newcomers that were welcomed, the first one first
	turned  []turned // peers for which there is no room, the oldest first
	kept    []Peer   // by the caller's wish

	budgets map[string]int // what those have left that went away within this tick

	out []Action
}

// How long things are waited for, in ticks.
const (
	joinAgain    = 3  // before a Subscribe is repeated
	joinGiveUp   = 10 // before another contact is asked
	joinPause    = 30 // between two tries, at most
	askAgain     = 3  // before an Exchange is repeated
	askGiveUp    = 30 // before its arcs are taken back
	grace        = 3  // for which a connection that nobody needs is kept
	budget       = 64 // messages of one peer within a tick
	visitPeriods = 60 // periods between two visits to a contact, at most
)

// New returns a machine. The configuration must be valid.
func New(c Config) *Machine {
	m := &Machine{cfg: c.withDefaults(), chance: splitmix.Source(c.Seed), budgets: map[string]int{}}
	m.number = m.chance.Next() >> 1 // no number of an earlier start
	m.periodAt = 1 + m.chance.Below(m.cfg.every)
	return m
}

// Step takes an input and returns what to do, in order.
func (m *Machine) Step(in Input) []Action {
	if m.left {
		return m.answerLate(in)
	}
	switch in := in.(type) {
	case Tick:
		m.passTick()
	case Up:
		m.linkUp(in.Peer)
	case Down:
		m.linkDown(in.Peer)
	case Received:
		m.takeMessage(in.From, in.Message)
	case Keep:
		m.kept = slices.DeleteFunc(slices.Clone(in.Peers), func(p Peer) bool { return !p.isSound() || p.Name == m.cfg.Self.Name })
		m.holdKept()
	case Leave:
		m.leaveAll()
	}
	m.settleLinks()
	out := m.out
	m.out = nil
	return out
}

func (m *Machine) addAction(a Action) { m.out = append(m.out, a) }

func (m *Machine) sendTo(to string, msg Message) { m.addAction(Send{To: to, Message: msg}) }

func (m *Machine) noteRefusal(from string, why Why) { m.addAction(Refused{From: from, Why: why}) }

func (m *Machine) nextNumber() uint64 {
	m.number++
	return m.number
}

// passTick does what time alone does.
func (m *Machine) passTick() {
	m.tick++
	clear(m.budgets)
	for _, p := range m.peers {
		p.budget = budget
		p.holds = max(p.holds-1, 0)
		p.idle++
	}
	m.holdKept()
	m.passTurned()
	m.passJoin()
	m.passFlight()
	if m.tick >= m.periodAt {
		m.periodAt += m.cfg.every
		m.passPeriod()
	}
	m.thinSpares()
}

// passPeriod is what a node does every ten seconds or so.
func (m *Machine) passPeriod() {
	m.periods++
	for i := range m.view {
		m.view[i].age++
	}
	for _, p := range m.peers {
		p.greeted = p.greeted && !m.needsLink(p) // said again: it may have been lost
		p.breaks = 0
	}
	m.lookAround()
	m.refillView()
	m.startExchange()
}

// takeMessage takes a message, unless it breaks a limit. What is refused changes nothing.
func (m *Machine) takeMessage(from string, msg Message) {
	p := m.findPeer(from)
	if p == nil || p.state != up {
		if !slices.ContainsFunc(m.turned, func(t turned) bool { return t.name == from }) { // it does not know yet
			m.noteRefusal(from, Unconnected)
		}
		return
	}
	if p.budget--; p.budget < 0 {
		m.noteRefusal(from, Flooding)
		return
	}
	if !Sound(msg) {
		m.noteRefusal(from, Malformed)
		return
	}
	if names(msg, m.cfg.Self.Name) {
		m.noteRefusal(from, NamesUs)
		return
	}
	switch msg := msg.(type) {
	case Hello:
		m.takeHello(p, msg)
	case Subscribe:
		m.takeSubscribe(p, msg)
	case Welcome:
		m.takeWelcome(p, msg)
	case Forward:
		m.takeForward(p, msg)
	case Exchange:
		m.answerExchange(p, msg)
	case Exchanged:
		m.takeAnswer(p, msg)
	case Goodbye:
		m.peerGone(p, true)
		m.lost.forgetPeer(from)
		m.addAction(Disconnect{Peer: from})
	}
}

// Spent reports whether a peer has sent all that it may before the next Tick: what it sends until then need not be decoded.
func (m *Machine) Spent(peer string) bool {
	p := m.findPeer(peer)
	return p != nil && p.budget < 0
}

// leaveAll says goodbye to all.
func (m *Machine) leaveAll() {
	for _, p := range m.peers {
		if p.state == up {
			m.sendTo(p.Name, Goodbye{})
		}
		if p.live {
			m.addAction(Lost{Peer: p.Name})
		}
		if p.state != away {
			m.addAction(Disconnect{Peer: p.Name})
		}
	}
	m.endTurned(len(m.turned))
	*m = Machine{cfg: m.cfg, left: true, out: m.out}
}

// answerLate turns away a peer whose call was under way when this node left, or that heard of it from others meanwhile. It would
// take the end of a connection without a goodbye for a fault, and look for this node.
func (m *Machine) answerLate(in Input) []Action {
	if in, is := in.(Up); is {
		name := in.Peer
		return []Action{Send{To: name, Message: Goodbye{}}, Disconnect{Peer: name}}
	}
	return nil
}

// Neighbours returns the names of the peers that a message can be sent to now, sorted.
func (m *Machine) Neighbours() []string {
	var out []string
	for _, p := range m.peers {
		if p.live {
			out = append(out, p.Name)
		}
	}
	return out
}

// Arcs returns how many arcs of this node's view lead to a peer. A neighbour without any is one since it has an arc to
// this node, or since the view alone has too few.
func (m *Machine) Arcs(peer string) int { return m.view.countTo(peer) }

// Status is what a machine has, for people.
type Status struct {
	Arcs       int // in the view
	Given      int // of an exchange that waits for its answer
	Neighbours int
	Joining    bool     // no contact has answered yet, or all neighbours are gone: it looks for one, with pauses
	Cache      []string // remembered peers, the newest last
	Lost       []string // peers that went away and are tried again
}

// Snapshot returns what the machine has.
func (m *Machine) Snapshot() Status {
	s := Status{Arcs: len(m.view), Neighbours: len(m.Neighbours()), Joining: m.isJoining(), Cache: namesOf(m.cache), Lost: namesOf(m.lost)}
	if m.flight != nil {
		s.Given = m.flight.arcCount()
	}
	return s
}

// isJoining reports whether this node looks for somebody to join by, now or after a pause.
func (m *Machine) isJoining() bool {
	if m.join != nil || !m.joined && !m.founder && len(m.cfg.Contacts) > 0 {
		return true
	}
	return len(m.Neighbours()) == 0 && len(m.cfg.Contacts)+len(m.cache)+len(m.lost) > 0
}

func namesOf(all []Peer) (out []string) {
	for _, p := range all {
		out = append(out, p.Name)
	}
	return slices.Clip(out)
}
