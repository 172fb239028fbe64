package logworld

import (
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

// way is one direction between two nodes.
type way struct{ from, to *node }

// network carries what nodes say to each other.
type network struct {
	cut    map[way]int           // nothing gets through, for so many reasons
	stream map[way]*world.Stream // where what is lost comes later
	loss   int                   // in percent
	twice  int                   // in percent: messages that come twice
	stalls bool
	slow   time.Duration // added to each delay, at most
	tardy  *node         // one of two messages to it comes five rounds later
}

// delay is how long a message takes: 1 to 20 ms.
func (r *run) delay() time.Duration {
	d := r.w.Between(time.Millisecond, 20*time.Millisecond)
	if r.net.slow > 0 {
		d += r.w.Between(0, r.net.slow)
	}
	return d
}

// carry takes a message from one node to another, unless it is lost. What reaches a process that stands still waits there.
func (r *run) carry(from, to *node, arrive func() core.Input) {
	on := way{from, to}
	r.Stats["messages"]++
	if r.net.cut[on] > 0 || from == to {
		return
	}
	wait := r.delay()
	if r.net.tardy == to && r.w.Chance(0.5) {
		wait += 5 * round
	}
	switch {
	case r.net.loss == 0:
	case r.net.stalls:
		wait = r.stall(on, wait)
	case r.w.Pick(100) < r.net.loss:
		return
	}
	times := 1
	if r.net.twice > 0 && r.w.Pick(100) < r.net.twice {
		times = 2
	}
	for range times {
		life := to.life
		r.w.After(wait, func() {
			if r.net.cut[on] == 0 && to.life == life {
				to.takes(arrive)
			}
		})
		wait += r.w.Between(0, 3*round)
	}
}

// stall returns after how long a message arrives on a connection that repeats what is lost.
func (r *run) stall(on way, wait time.Duration) time.Duration {
	if r.net.stream[on] == nil {
		r.net.stream[on] = &world.Stream{}
	}
	r.net.stream[on].Loses(r.w.Now(), 2*round, 16*round, func() bool { return r.w.Pick(100) < r.net.loss })
	return r.net.stream[on].Arrives(r.w.Now()+wait) - r.w.Now()
}

// part cuts all ways between two groups, or joins them again.
func (r *run) part(a, b []*node, by int) {
	for _, x := range a {
		for _, y := range b {
			if x != y {
				r.cut(way{x, y}, by)
				r.cut(way{y, x}, by)
			}
		}
	}
}

// cut gives a way one more reason to let nothing through, or one less. In the calm there is none.
func (r *run) cut(on way, by int) {
	if now := r.net.cut[on] + by; now > 0 && !r.quiet {
		r.net.cut[on] = now
	} else {
		delete(r.net.cut, on)
	}
}

// cutFor cuts groups off from each other for a time.
func (r *run) cutFor(a, b []*node, wait time.Duration) {
	r.part(a, b, 1)
	r.w.After(wait, func() { r.part(a, b, -1) })
}

// oneWay cuts one direction between two nodes for a time.
func (r *run) oneWay(from, to *node, wait time.Duration) {
	r.cut(way{from, to}, 1)
	r.w.After(wait, func() { r.cut(way{from, to}, -1) })
}

// reach reports whether messages get both ways between two nodes that run.
func (r *run) reach(a, b *node) bool {
	return a == b || a.up && b.up && r.net.cut[way{a, b}] == 0 && r.net.cut[way{b, a}] == 0
}
