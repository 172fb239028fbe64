package crowd

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/agent"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/transport"
)

// link is one connection. Its two ends may see it end at different instants.
type link struct {
	by      *node // who has dialled
	born    time.Duration
	streams [2]world.Stream  // where what is lost comes later: what the dialler says, and what the other one says
	last    [2]time.Duration // when the last word of each arrives
}

// says is which of its two directions a node sends in.
func (l *link) says(n *node) int {
	if n == l.by {
		return 0
	}
	return 1
}

// end is a node's end of a connection.
type end struct {
	to   *node
	link *link
}

// end returns the node's end of its connection to another, or nil.
func (n *node) end(to *node) *end {
	if at, is := n.place(to); is {
		return n.ends[at]
	}
	return nil
}

func (n *node) place(to *node) (int, bool) {
	return slices.BinarySearchFunc(n.ends, to.index, func(e *end, index int) int { return cmp.Compare(e.to.index, index) })
}

// does is something that happens to a process. A frozen one does it when it goes on.
func (n *node) does(what func()) {
	switch {
	case !n.up:
	case n.paused:
		n.waits = append(n.waits, what)
	default:
		what()
	}
}

// linked has a process notice what has become of a connection.
func (n *node) linked(to *node, up bool) {
	l := transport.Link{Peer: to.name, Up: up}
	if up {
		l.Key = to.subject
	}
	n.takes(agent.Arrived{Links: []transport.Link{l}}, nil)
}

// dial asks for a connection. The process hears what came of it.
func (r *run) dial(n, to *node) {
	r.Stats["dials"]++
	r.dialled++
	n.dials[to] = r.dialled
	r.attempt(n, to, r.dialled, 0)
}

// pauses are the seconds after which a dial that nobody answers is repeated; after the last one it has failed.
var pauses = [...]int{1, 2, 2}

// attempt is a connection of TCP: the process at the other end accepts it with the third message.
func (r *run) attempt(n, to *node, dial uint64, try int) {
	r.w.After(r.delay()+r.delay()+r.delay(), func() {
		switch {
		case !n.up || n.dials[to] != dial:
		case n.paused || to.paused || n.side != to.side || !to.up && to.dark:
			if try < len(pauses) {
				r.w.After(time.Duration(pauses[try])*r.second, func() { r.attempt(n, to, dial, try+1) })
				return
			}
			n.does(func() { r.failed(n, to, dial) })
		case !to.up: // its host says so
			r.failed(n, to, dial)
		default:
			r.knock(n, to, dial)
		}
	})
}

// guest is a connection whose dialler has not proven yet who it is.
type guest struct {
	by   *node
	dial uint64
}

// door is where a process takes those that connect to it, as package mtls does.
type door struct {
	backlog []guest       // of the host: nobody has looked at them yet
	proving []guest       // are about to prove who they are
	busy    time.Duration // until when the process works for those
	waits   uint64        // for a place: how often one was taken until then
	taken   uint64
}

// proof is how long a process works for each connection that it accepts: a millisecond and a bit of one processor
// (mtls.BenchmarkConnect has both sides), and it has four of them.
const proof = 300 * time.Microsecond

// knock has a connection wait until the process accepts it.
func (r *run) knock(n, to *node, dial uint64) {
	to.door.backlog = append(to.door.backlog, guest{n, dial})
	r.admit(to, to.lives)
}

// admit accepts connections while there are places. If none becomes free for a while one of those that have one goes.
func (r *run) admit(n *node, life int) {
	d := &n.door
	for len(d.backlog) > 0 && len(d.proving) < transport.MostStrangers {
		g := d.backlog[0]
		d.backlog, d.proving = d.backlog[1:], append(d.proving, g)
		d.taken++
		r.prove(g, n, life)
	}
	if len(d.backlog) == 0 || d.waits == d.taken {
		return
	}
	d.waits = d.taken
	waits := d.waits
	r.w.After(transport.StrangerWaits, func() {
		if n.lives == life && d.taken == waits {
			g := d.leave(r.w.Pick(len(d.proving)))
			r.Stats["evicted"]++
			r.w.After(r.delay(), func() { g.by.does(func() { r.failed(g.by, n, g.dial) }) })
			r.admit(n, life)
		}
	})
}

func (d *door) leave(at int) guest {
	g := d.proving[at]
	d.proving = slices.Delete(d.proving, at, at+1)
	return g
}

// prove is TLS: three messages, the second of which waits for the processor.
func (r *run) prove(g guest, to *node, life int) {
	d := &to.door
	d.busy = max(d.busy, r.w.Now()) + proof
	r.w.After(d.busy-r.w.Now()+r.delay()+r.delay(), func() {
		at := slices.Index(d.proving, g)
		if at < 0 || to.lives != life {
			return // it had to go, or the process has
		}
		d.leave(at)
		r.admit(to, life)
		r.w.After(r.delay(), func() {
			switch n := g.by; {
			case !n.up || n.dials[to] != g.dial:
			case n.paused || to.paused || n.side != to.side || !to.up:
				n.does(func() { r.failed(n, to, g.dial) })
			default:
				r.connect(n, to)
			}
		})
	})
}

func (r *run) failed(n, to *node, dial uint64) {
	if n.dials[to] != dial {
		return
	}
	if delete(n.dials, to); n.end(to) == nil { // else the other one has called
		n.linked(to, false)
	}
}

// connect makes a connection, unless both have dialled and one is there. An end of an older one, of which its peer knows
// nothing any more, is replaced.
func (r *run) connect(n, to *node) {
	delete(n.dials, to)
	delete(to.dials, n)
	a, b := n.end(to), to.end(n)
	if a != nil && b != nil && a.link == b.link {
		return
	}
	l := &link{by: n, born: r.w.Now()}
	for _, p := range [2][2]*node{{n, to}, {to, n}} {
		if old := p[0].end(p[1]); old != nil {
			r.ends(p[0], p[1], old.link)
		}
		at, _ := p[0].place(p[1])
		p[0].ends = slices.Insert(p[0].ends, at, &end{to: p[1], link: l})
	}
	n.linked(to, true)
	to.linked(n, true)
}

// ends has a node notice that a connection is over.
func (r *run) ends(n, to *node, l *link) {
	n.does(func() {
		if e := n.end(to); e != nil && e.link == l {
			n.detach(to)
			n.linked(to, false)
		}
	})
}

func (n *node) detach(to *node) {
	if at, is := n.place(to); is {
		n.ends = slices.Delete(n.ends, at, at+1)
	}
}

// hangUp ends a connection. The other end hears of it, or notices the silence.
func (r *run) hangUp(n *node, e *end) {
	n.detach(e.to)
	wait := max(r.delay(), e.link.last[e.link.says(n)]-r.w.Now()+1)
	if n.side != e.to.side {
		wait = r.keepalive()
	}
	r.w.After(wait, func() { r.ends(e.to, n, e.link) })
}

// keepalive is after how long a node notices that nobody is at the other end any more.
func (r *run) keepalive() time.Duration { return r.w.Between(4*r.second, 5*r.second) }

// silent has both ends of each connection of a node notice that nothing gets through, if that is still so then.
func (r *run) silent(n *node, is func(to *node) bool) {
	for _, e := range n.ends {
		to, l := e.to, e.link
		if !is(to) {
			continue
		}
		for _, p := range [2][2]*node{{n, to}, {to, n}} {
			r.w.After(r.keepalive(), func() {
				if is(to) {
					r.ends(p[0], p[1], l)
				}
			})
		}
	}
}
