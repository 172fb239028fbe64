package chunksync

import (
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

// settings configures a machine. All fields are required; Config has the defaults.
type settings struct {
	Peers    []string      // the other nodes, in any order, each once
	Copies   int           // peers that store a write before it is acknowledged
	Grace    time.Duration // how long a takeover waits for peers that it does not need
	Repair   time.Duration // interval of offers to a peer that lacks nothing
	RetryMin time.Duration // pause after a peer's first failure, then doubled
	RetryMax time.Duration
	Parallel int // chunks in transit to one peer
}

// Need returns the number of peers that must answer a new leader. Of those and the new
// leader itself, at least one holds each write that Copies followers confirmed.
func (s settings) Need() int {
	if s.Copies == 0 {
		return 0 // no write was promised to survive
	}
	return max(0, len(s.Peers)-s.Copies)
}

type phase uint8

const (
	idle      phase = iota
	gathering       // asks the peers which version they hold
	adopting        // stores the newest of them as its own
	leading
	resigned
)

// machine decides for one leadership which catalog to begin with and what to send to each
// peer. It is pure. Each action that names a peer is answered by exactly one input.
type machine struct {
	set   settings
	phase phase
	until fence.Instant // end of the takeover's grace
	own   Version
	peers []*peer
	out   []action
}

// peer is one follower as the leader sees it.
type peer struct {
	name     string
	busy     int           // exchanges in progress
	asked    bool          // it has answered ask, or failed, at least once
	promised bool          // it has promised this leader
	had      Version       // what it held when it promised
	damaged  bool          // chunks of had are missing
	held     Version       // what it holds under this leader
	offer    Version       // the version in transit; zero: none
	queue    []Hash        // chunks to send
	fails    int           // consecutive failures
	due      fence.Instant // the earliest time of the next exchange
}

func newMachine(s settings) *machine {
	m := &machine{set: s}
	for _, name := range s.Peers {
		m.peers = append(m.peers, &peer{name: name})
	}
	return m
}

// Leading reports whether this node takes writes.
func (m *machine) Leading() bool { return m.phase == leading }

// Holders returns the number of peers that hold v or a later version of this leader.
func (m *machine) Holders(v Version) (n int) {
	for _, p := range m.peers {
		if v.Compare(p.held) <= 0 {
			n++
		}
	}
	return n
}

// Held returns the version that a peer holds under this leader, or zero.
func (m *machine) Held(name string) Version {
	if p := m.find(name); p != nil {
		return p.held
	}
	return Version{}
}

// Next returns the time of the next tick, or 0 if none is needed.
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
		if p.busy == 0 && (m.phase == leading || p.worthAsking()) {
			sooner(p.due)
		}
	}
	return at
}

// Step takes one input and returns the actions that follow from it.
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
			p.due = now.Add(m.set.RetryMax) // another leader may have repaired it by then
		}
	case adopted:
		m.phase, m.own = leading, in.Version
		for _, p := range m.peers {
			p.due = 0 // ask even failing peers again, since all need the new catalog
		}
	case unadopted:
		m.phase = gathering
		p := m.find(in.Peer)
		p.promised, p.asked = false, true
		m.failed(now, p, in.Jitter)
	case changed:
		if in.Version.Compare(m.own) > 0 { // two writes may tell in the other order
			m.own = in.Version
		}
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
		m.failed(now, p, in.Jitter)
	case deposed:
		m.phase = resigned
		m.do(resign{})
	case tick:
	}
}

// answered returns the peer of an answer and counts its exchange as over.
func (m *machine) answered(name string) *peer {
	p := m.find(name)
	p.busy--
	return p
}

// find returns nil for an unknown name.
func (m *machine) find(name string) *peer {
	for _, p := range m.peers {
		if p.name == name {
			return p
		}
	}
	return nil
}

// failed sets the pause before the peer is asked again. It doubles with each failure, and
// the jitter keeps several leaders or peers from trying again at one instant.
func (m *machine) failed(now fence.Instant, p *peer, jitter float64) {
	wait := pause.Doubled(m.set.RetryMin, p.fails, m.set.RetryMax)
	p.fails++
	p.queue, p.offer = nil, Version{} // chunks that arrived are kept; the newest catalog is offered next
	p.due = now.Add(wait/2 + time.Duration(jitter*float64(wait/2)))
}

func (m *machine) do(a action) { m.out = append(m.out, a) }
