package crowd

import (
	"time"

	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/wire"
)

// named is for how long some nodes, while they live, believe in two leaders, whether these live or not.
type named struct {
	whose  string
	figure string
	since  time.Duration // below 0: they do not
}

func newNamed() [2]named {
	return [2]named{{"the electors", "two_named_tenths_max", -1}, {"all nodes", "two_named_crowd_tenths_max", -1}}
}

// lookAtNames judges in how many leaders the electors believe, and in how many anybody does. A word of the leader counts at an elector for
// a validity, and for everybody else for ten.
func (r *run) lookAtNames() {
	if r.cfg.Electors == 0 || r.cfg.Policy == hint.Paper {
		return
	}
	r.lookAt(&r.named[0], r.nodes[:r.cfg.Electors], r.slowest(1))
	r.lookAt(&r.named[1], r.nodes, r.slowest(10))
}

func (r *run) lookAt(v *named, nodes []*node, most time.Duration) {
	switch two := r.namesTwo(nodes); {
	case !two:
		v.ends(r)
	case v.since < 0:
		at := r.w.Now()
		v.since = at
		r.w.After(most, func() {
			r.Check(v.since != at, OneOfMany, "%s together believe in two leaders for longer than a heartbeat counts, %.1f rounds", v.whose, rounds(most))
		})
	}
}

// ends notes for how long it was.
func (v *named) ends(r *run) {
	if v.since >= 0 {
		r.Stats[v.figure] = max(r.Stats[v.figure], int64(10*rounds(r.w.Now()-v.since)))
	}
	v.since = -1
}

// slowest is how long a heartbeat counts by the slowest clock, at a node that hears one each so many rounds.
func (r *run) slowest(each int) time.Duration {
	d := time.Duration(0)
	for _, n := range r.nodes {
		d = max(d, n.clock.For(time.Duration(2*r.cfg.Diameter*each)*round))
	}
	return d
}

// namesTwo reports whether living nodes believe in two leaders. If two electors are heard by nobody, what those believe is left out: each may
// lead in its own view, and nobody can tell.
func (r *run) namesTwo(nodes []*node) bool {
	muted := 0
	for _, n := range r.nodes[:r.cfg.Electors] {
		if n.up && n.mute {
			muted++
		}
	}
	var one wire.Subject
	for _, n := range nodes {
		l := n.believes.Leader
		if !n.up || n.paused || l == (wire.Subject{}) || n.mute && muted > 1 {
			continue
		}
		if one != (wire.Subject{}) && one != l {
			return true
		}
		one = l
	}
	return false
}
