package world

import "time"

// Network carries messages between named places. It may delay or lose them.
type Network struct {
	w    *World
	unit time.Duration
	cut  map[link]*parked
	calm bool
}

type link struct{ from, to string }

type parked struct{ waiting []func() }

// NewNetwork returns a network whose longest delays are two units, such as leases.
func (w *World) NewNetwork(unit time.Duration) *Network {
	return &Network{w: w, unit: unit, cut: map[link]*parked{}}
}

// Calm heals the links between places. From now on delays are short and no message is lost.
func (n *Network) Calm(places []string) {
	n.calm = true
	for _, a := range places {
		for _, b := range places {
			n.Heal(a, b)
		}
	}
}

// Cut cuts one direction of a link.
func (n *Network) Cut(from, to string) {
	if n.cut[link{from, to}] == nil {
		n.cut[link{from, to}] = &parked{}
	}
}

// Heal ends a cut. Messages that were retransmitted meanwhile arrive now.
func (n *Network) Heal(from, to string) {
	p := n.cut[link{from, to}]
	delete(n.cut, link{from, to})
	if p != nil {
		for _, f := range p.waiting {
			f()
		}
	}
}

// IsCut reports whether that direction is cut.
func (n *Network) IsCut(from, to string) bool { return n.cut[link{from, to}] != nil }

// delay draws a delay: mostly that of one rack, sometimes that of a bad network.
func (n *Network) delay() time.Duration {
	if n.calm {
		return n.w.Between(50*time.Microsecond, 2*time.Millisecond)
	}
	switch p := n.w.Pick(1000); {
	case p < 900:
		return n.w.Between(50*time.Microsecond, 2*time.Millisecond)
	case p < 960:
		return n.w.Between(2*time.Millisecond, n.unit/20)
	case p < 990:
		return n.w.Between(n.unit/20, n.unit)
	default:
		return n.w.Between(n.unit/2, 2*n.unit)
	}
}

func (n *Network) loses() bool { return !n.calm && n.w.Chance(0.006) }

// Stream is one direction of a connection that repeats what is lost, as TCP does: what is sent meanwhile waits for it, and comes after
// it. The zero value is a new one.
type Stream struct{ held, since time.Duration }

// Loses says how often a message is lost that leaves now: it is sent again after a pause, then after twice as long, and so on.
func (s *Stream) Loses(now, pause, most time.Duration, lost func() bool) {
	if s.held > now {
		return // it waits for what was lost before
	}
	for ; lost() && pause < most; pause *= 2 {
		if s.held <= now {
			s.since = now
		}
		s.held = max(s.held, now) + pause
	}
}

// Arrives returns when a message arrives that would do so at an instant.
func (s *Stream) Arrives(at time.Duration) time.Duration {
	s.held = max(at, s.held+1)
	return s.held
}

// Stalls returns for how long it has stalled; 0 if it does not.
func (s *Stream) Stalls(now time.Duration) time.Duration {
	if s.held <= now {
		return 0
	}
	return now - s.since
}

// Tell sends a datagram.
func (n *Network) Tell(from, to string, arrive func()) {
	if n.IsCut(from, to) || n.loses() {
		return
	}
	n.w.After(n.delay(), arrive)
}

// Pipe is one direction of a connection.
type Pipe struct {
	n        *Network
	from, to string
	last     time.Duration
	broken   bool
	onBreak  func()
}

// NewPipe opens a pipe. When a message is lost, no later message arrives, and the pipe
// calls onBreak; neither end notices the loss by itself.
func (n *Network) NewPipe(from, to string, onBreak func()) *Pipe {
	return &Pipe{n: n, from: from, to: to, onBreak: onBreak}
}

// Send sends one message.
func (p *Pipe) Send(arrive func()) {
	if p.broken {
		return
	}
	if at := p.n.cut[link{p.from, p.to}]; at != nil && !p.n.w.Chance(0.5) {
		at.waiting = append(at.waiting, func() { p.deliver(arrive) })
		return
	} else if at != nil || p.n.loses() {
		p.broken = true
		if p.onBreak != nil {
			p.onBreak()
		}
		return
	}
	p.deliver(arrive)
}

// Reset breaks the pipe and sends the message that the connection is over, which needs
// no intact pipe. If the link is cut, the message is lost and the pipe calls onBreak.
func (p *Pipe) Reset(arrive func()) {
	p.broken = true
	if !p.n.IsCut(p.from, p.to) {
		p.deliver(arrive)
	} else if p.onBreak != nil {
		p.onBreak()
	}
}

func (p *Pipe) deliver(arrive func()) {
	at := max(p.n.w.now+p.n.delay(), p.last+1)
	p.last = at
	p.n.w.After(at-p.n.w.now, arrive)
}
