package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election"
)

// drill is one trouble in a world that is calm otherwise: somebody has to lead again within
// a bound that allows for no other, and it costs no other scope anything.
type drill struct {
	r      *run
	scope  string
	p      *process // leads it
	rival  bool     // another could
	left   map[string]*loss
	stream bool // clients of the scope are at work
}

// loss is a scope that somebody has to lead anew.
type loss struct {
	term  *tenure       // the last before the trouble
	since time.Duration // since when it could be led; 0: not yet
	bound time.Duration
}

var drills = []struct {
	name string
	run  func(*drill)
}{
	{"poisoned", (*drill).poisoned},
	{"locked", (*drill).locked},
	{"refused", (*drill).refused},
	{"shared", (*drill).shared},
	{"busy", (*drill).busy},
}

// drill picks one, once all that the faults have left behind is over.
func (r *run) drill() {
	if r.w.Chance(0.65) { // it takes as long as all else
		return
	}
	d := &drill{r: r, left: map[string]*loss{}}
	for r.w.Now()-r.calmAt < 4*baseLease || !r.led() || !d.meets() {
		if r.w.Now()-r.calmAt > 15*r.longest || !r.step() {
			r.count("undrilled")
			return
		}
	}
	kind := drills[r.w.Pick(len(drills))]
	r.count("drill_" + kind.name)
	r.w.Note(d.p.name, "drill: "+kind.name, 0)
	kind.run(d)
	for len(r.found) == 0 && !d.over() {
		if !r.step() {
			r.halted()
			return
		}
	}
	d.stream, r.db.refuses = false, ""
}

// meets looks for a scope that is led, and for another candidate.
func (d *drill) meets() bool {
	r := d.r
	d.scope = r.scopes[r.w.Steps()%len(r.scopes)]
	t := r.doors[d.scope].leader()
	if t == nil {
		return false
	}
	d.p, d.rival = t.p, false
	rivals := 0
	for _, n := range r.nodes {
		for _, p := range n.living() {
			// Who has lost its process key without knowing finds out only once it has won.
			ready := p.stops == 0 && p.conn != nil && !p.conn.dead && !r.db.store.Gone(p.conn.key)
			switch {
			case !ready:
				return false
			case p != d.p && n.campaigns(d.scope):
				rivals++
			}
		}
	}
	d.rival = rivals > 0
	return true
}

// gives has the leader give a scope up.
func (d *drill) gives(scope string, why error) {
	t := d.r.doors[scope].leader()
	bound := d.r.longest
	if !d.rival || t.p != d.p { // it rests for a lease and more, to let others go first
		bound = 3 * d.r.longest
	}
	d.left[scope] = &loss{term: t, bound: bound}
	d.p.run(func() { d.p.post(election.StepDown{Scope: scope, Why: why, Timeout: 100 * d.r.longest}) })
}

// others are the scopes that the process leads as well.
func (d *drill) others() (all []string) {
	for _, scope := range d.r.scopes {
		if t := d.r.doors[scope].leader(); scope != d.scope && t != nil && t.p == d.p {
			all = append(all, scope)
		}
	}
	return all
}

// poisoned: a scope is given up for a reason that the mint cannot take, and another with it.
func (d *drill) poisoned() {
	d.gives(d.scope, errPoison)
	if others := d.others(); len(others) > 0 {
		d.gives(others[0], election.ErrStepDown)
		d.p.together = 2
	}
}

// locked: the row of a scope that is given up is locked by a stranger, for some leases.
func (d *drill) locked() {
	r := d.r
	r.db.store.LockRow(d.scope, true)
	d.gives(d.scope, election.ErrStepDown)
	l := d.left[d.scope]
	l.since, l.bound = -1, 3*r.longest
	r.w.After(3*r.longest, func() {
		r.db.store.LockRow(d.scope, false)
		l.since = r.w.Now()
	})
}

// refused: no farewell of a scope can be said, whatever its words, nor any that are to be
// said with it. Its own process has to bid for it then, or to let go of its session.
func (d *drill) refused() {
	d.r.db.refuses = d.scope
	d.poisoned()
	d.left[d.scope].bound = 5 * d.r.longest
}

// shared: a scope is given up while clients above READ COMMITTED pass its fence all the time.
func (d *drill) shared() {
	d.clients(true, 10*time.Millisecond, 30*time.Millisecond)
	d.gives(d.scope, election.ErrStepDown)
}

// busy: a leader dies while clients pass its fence all the time, now and then beside one
// that works for leases.
func (d *drill) busy() {
	r := d.r
	most := r.shortest / 4
	if r.w.Chance(0.5) { // of clients that all work for a good part of a lease, one always has the fence
		most *= 3
	}
	d.clients(false, most/2, most)
	bound := 5*r.longest/2 + baseLease // a node that is alone is away for so long
	if token, ok := r.db.store.Token(d.scope); ok && r.w.Chance(0.7) {
		bound += r.longest
		r.db.transact(token, false, 6*r.longest, func() bool { return false })
	}
	r.w.After(r.shortest/3, func() {
		d.left[d.scope] = nil
		for _, scope := range append(d.others(), d.scope) {
			d.left[scope] = &loss{term: r.doors[scope].leader(), since: r.w.Now(), bound: bound}
		}
		d.p.node.kill(r.w.Between(0, baseLease))
	})
	d.left[d.scope] = &loss{term: r.doors[d.scope].leader(), bound: bound}
}

// clients are 16 that pass the fence of the scope, work and commit, again and again, under
// whatever token there is.
func (d *drill) clients(above bool, least, most time.Duration) {
	d.stream = true
	for range 16 {
		d.client(above, least, most)
	}
}

func (d *drill) client(above bool, least, most time.Duration) {
	w, db := d.r.w, d.r.db
	w.After(w.Between(0, 5*time.Millisecond), func() {
		if !d.stream {
			return
		}
		token, ok := db.store.Token(d.scope)
		if !ok {
			d.client(above, least, most)
			return
		}
		lasts := w.Between(least, most)
		db.queue(d.scope, func() {
			db.transact(token, above, lasts, func() bool { return false })
			w.After(lasts, func() { d.client(above, least, most) })
		})
	})
}

// over: each scope is led that ought to be. What was not given up may not be without a leader
// for a moment.
func (d *drill) over() bool {
	r, all := d.r, true
	for _, scope := range r.scopes {
		t, l := r.doors[scope].leader(), d.left[scope]
		switch {
		case l == nil:
			if t == nil && r.wanted(scope) {
				r.violated(Liveness, fmt.Sprintf("%s has no leader, which the trouble of %s is no reason for", scope, d.scope))
			}
			continue
		case t != nil && t != l.term:
			delete(d.left, scope)
			continue
		}
		all = false
		if l.since == 0 {
			l.since = l.term.endedAt
		}
		if l.since > 0 && r.w.Now()-l.since > l.bound {
			r.violated(Liveness, fmt.Sprintf("%s could be led for %s and is not, and nothing else is wrong", scope, r.w.Now()-l.since))
		}
	}
	return all
}

// leader is the term whose act door is open, of its process and not of callers alone.
func (h *hall) leader() *tenure {
	now := h.r.w.Now()
	for _, t := range h.terms {
		if a, b := t.ownSpan(now, now+1); a < b && !t.shut {
			return t
		}
	}
	return nil
}

// wanted: somebody campaigns for a scope.
func (r *run) wanted(scope string) bool {
	return slices.ContainsFunc(r.nodes, func(n *node) bool { return n.campaigns(scope) })
}
