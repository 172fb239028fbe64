package chunksync

import (
	"time"

	"github.com/conchhq/conch/fence"
)

// settings of a machine. All have to be set; Config knows the defaults.
type settings struct {
	Peers    []string      // the other nodes, in any order, each once
	Copies   int           // on how many of them a write is before it is acknowledged
	Grace    time.Duration // how long a takeover waits for peers that it could do without
	Repair   time.Duration // between offers to a peer that has everything
	RetryMin time.Duration // after the first failure of a peer; doubled each time
	RetryMax time.Duration
	Parallel int // chunks under way to one peer
}

// Need is of how many peers a new leader must have heard. Whatever Copies peers and
// the leader held, at least one of those heard and the new leader holds.
func (s settings) Need() int {
	if s.Copies == 0 {
		return 0 // nothing was promised
	}
	return max(0, len(s.Peers)-s.Copies)
}

type phase uint8

const (
	idle      phase = iota
	gathering       // asks what its predecessors had followers hold
	adopting        // makes the newest of that its own
	leading
	resigned
)

// machine is one leadership over files: it decides whom to ask, what to start from,
// and what to send to whom. It is pure: inputs and the time go in, actions come out,
// and each action that names a peer is answered by exactly one input.
type machine struct {
	set   settings
	phase phase
	until fence.Instant // the grace of the takeover
	own   Version
	peers []*peer
	out   []action
}

// peer is one follower, as the leader knows it.
type peer struct {
	name     string
	busy     int // exchanges under way
	asked    bool
	promised bool // it has promised to hear this leader, and nobody before
	had      Version
	damaged  bool    // of its vote it has not all content any more
	held     Version // what it holds of this leader's
	offer    Version // what is being sent; zero: nothing
	queue    []Hash
	fails    int
	due      fence.Instant // not before
}

// newMachine returns a machine that waits for begin.
func newMachine(s settings) *machine {
	m := &machine{set: s}
	for _, name := range s.Peers {
		m.peers = append(m.peers, &peer{name: name})
	}
	return m
}

// Leading reports whether writes may be made.
func (m *machine) Leading() bool { return m.phase == leading }

// Holders is how many peers hold the version, or a later one of this leader's.
func (m *machine) Holders(v Version) (n int) {
	for _, p := range m.peers {
		if v.Compare(p.held) <= 0 {
			n++
		}
	}
	return n
}

// Held is what a peer holds of this leader's; zero if nothing.
func (m *machine) Held(name string) Version {
	if p := m.find(name); p != nil {
		return p.held
	}
	return Version{}
}

// Next is when the machine wants a tick, 0 if never.
func (m *machine) Next() (at fence.Instant) {
	sooner := func(t fence.Instant) {
		if t != 0 && (at == 0 || t < at) {
			at = t
		}
	}
	if m.phase != gathering && m.phase != leading {
		return 0
	}
	if m.phase == gathering {
		if _, sure := m.best(); sure {
			sooner(m.until)
		}
	}
	for _, p := range m.peers {
		if p.busy == 0 && (m.phase == leading || p.unheard()) {
			sooner(p.due)
		}
	}
	return at
}

// Step takes one input at an instant and says what is to be done.
func (m *machine) Step(now fence.Instant, in input) []action {
	m.out = nil
	if m.phase != resigned {
		m.take(now, in)
		m.pump(now)
	}
	return m.out
}

func (m *machine) take(now fence.Instant, in input) {
	switch in := in.(type) {
	case begin:
		m.phase, m.own, m.until = gathering, in.Own, now.Add(m.set.Grace)
	case promised:
		p := m.answered(in.Peer)
		p.fails, p.asked, p.promised, p.had, p.damaged = 0, true, true, in.Held, in.Damaged
		if p.damaged && m.phase == gathering {
			p.due = now.Add(m.set.RetryMax) // somebody may give back what it has lost
		}
	case adopted:
		m.phase, m.own = leading, in.Version
		for _, p := range m.peers {
			p.due = 0 // what failed before may work by now, and everybody has to hear
		}
	case unadopted:
		m.phase = gathering
		p := m.find(in.Peer)
		p.promised, p.asked = false, true
		m.failed(now, p, in.Luck)
	case changed:
		m.own = in.Version
	case lacking:
		p := m.answered(in.Peer)
		p.fails, p.queue = 0, in.Chunks
	case sent:
		p := m.answered(in.Peer)
		p.fails = 0
	case took:
		p := m.answered(in.Peer)
		if in.Version.Compare(p.held) > 0 {
			p.held = in.Version
		}
		p.fails, p.offer, p.due = 0, Version{}, now.Add(m.set.Repair)
	case failed:
		p := m.answered(in.Peer)
		p.asked = true
		m.failed(now, p, in.Luck)
	case deposed:
		m.phase = resigned
		m.do(resign{})
	case tick:
	}
}

// answered finds the peer of an answer, which is one exchange less.
func (m *machine) answered(name string) *peer {
	p := m.find(name)
	p.busy--
	return p
}

// find is nil for nobody's name.
func (m *machine) find(name string) *peer {
	for _, p := range m.peers {
		if p.name == name {
			return p
		}
	}
	return nil
}

// failed waits before the peer is asked again: longer each time, and never as long as
// another leader or another peer would.
func (m *machine) failed(now fence.Instant, p *peer, luck float64) {
	pause := m.set.RetryMax
	if p.fails < 30 {
		pause = min(pause, m.set.RetryMin<<p.fails)
	}
	p.fails++
	p.queue, p.offer = nil, Version{} // what arrived of it is there; the newest is offered next
	p.due = now.Add(pause/2 + time.Duration(luck*float64(pause/2)))
}

func (m *machine) do(a action) { m.out = append(m.out, a) }
