package electorate

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election/internal/core"
)

// drill is a single trouble in a world without faults. The affected scopes must be led again
// within a bound that allows for no other trouble, and all other scopes keep their leaders.
type drill struct {
	r          *run
	scope      string
	p          *process // the leader of scope
	rival      bool     // scope has another candidate
	leaderless map[string]*loss
	stream     bool // clients keep passing the fence of scope
}

// loss is a scope that needs a new leader.
type loss struct {
	term  *tenure       // the last one before the trouble
	since time.Duration // since when it can be led; 0: since the end of term; -1: not yet
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

// drill runs one drill, once the consequences of the faults are over.
func (r *run) drill() {
	if r.w.Chance(0.65) { // a drill takes as long as the rest of a run
		return
	}
	d := &drill{r: r, leaderless: map[string]*loss{}}
	for r.w.Now()-r.faultsEndedAt < 4*baseLease || !r.led() || !d.prepare() {
		if r.w.Now()-r.faultsEndedAt > 15*r.longest || !r.step() {
			r.count("undrilled")
			return
		}
	}
	kind := drills[r.w.Pick(len(drills))]
	r.count("drill_" + kind.name)
	r.w.Note(d.p.name, "drill: "+kind.name, 0)
	kind.run(d)
	for len(r.Found) == 0 && !d.over() {
		if !r.step() {
			r.halted()
			return
		}
	}
	d.stream, r.db.refuses = false, ""
}

// prepare looks for a scope that is led, and for a rival. It returns false until all are ready.
func (d *drill) prepare() bool {
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
			// A process that has lost its process key finds out only once it has won.
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

// giveUp makes the leader give a scope up.
func (d *drill) giveUp(scope string, why error) {
	t := d.r.doors[scope].leader()
	bound := d.r.longest
	if !d.rival || t.p != d.p { // the leader rests for over a lease, to let others go first
		bound = 3 * d.r.longest
	}
	d.leaderless[scope] = &loss{term: t, bound: bound}
	d.p.run(func() {
		d.p.post(core.Asked{StepDown: core.StepDown{Scope: scope, Why: why, Timeout: 100 * d.r.longest}})
	})
}

// others returns the other scopes that the leader of scope leads.
func (d *drill) others() (all []string) {
	for _, scope := range d.r.scopes {
		if t := d.r.doors[scope].leader(); scope != d.scope && t != nil && t.p == d.p {
			all = append(all, scope)
		}
	}
	return all
}

// poisoned gives a scope up for a reason that the mint cannot store, and another with it.
func (d *drill) poisoned() {
	d.giveUp(d.scope, errPoison)
	if others := d.others(); len(others) > 0 {
		d.giveUp(others[0], core.ErrStepDown)
		d.p.endsAtOnce = 2
	}
}

// locked gives a scope up while another client locks its row for three leases.
func (d *drill) locked() {
	r := d.r
	r.db.store.LockRow(d.scope, true)
	d.giveUp(d.scope, core.ErrStepDown)
	l := d.leaderless[d.scope]
	l.since, l.bound = -1, 3*r.longest
	r.w.After(3*r.longest, func() {
		r.db.store.LockRow(d.scope, false)
		l.since = r.w.Now()
	})
}

// refused makes every farewell to a scope fail, and all that are sent with it. Its process must
// then bid for the scope itself, or end its session.
func (d *drill) refused() {
	d.r.db.refuses = d.scope
	d.poisoned()
	d.leaderless[d.scope].bound = 5 * d.r.longest
}

// shared gives a scope up while clients above READ COMMITTED keep passing its fence.
func (d *drill) shared() {
	d.clients(true, 10*time.Millisecond, 30*time.Millisecond)
	d.giveUp(d.scope, core.ErrStepDown)
}

// busy kills a leader while clients keep passing its fence, sometimes beside a transaction that
// takes six leases.
func (d *drill) busy() {
	r := d.r
	most := r.shortest / 4
	if r.w.Chance(0.5) { // transactions so long that one always holds the fence
		most *= 3
	}
	d.clients(false, most/2, most)
	bound := 5*r.longest/2 + baseLease // a node without a rival may be down for baseLease
	if token, ok := r.db.store.Token(d.scope); ok && r.w.Chance(0.7) {
		bound += r.longest
		r.db.transact(token, false, 6*r.longest, func() bool { return false })
	}
	r.w.After(r.shortest/3, func() {
		d.leaderless[d.scope] = nil
		for _, scope := range append(d.others(), d.scope) {
			d.leaderless[scope] = &loss{term: r.doors[scope].leader(), since: r.w.Now(), bound: bound}
		}
		d.p.node.kill(r.w.Between(0, baseLease))
	})
	d.leaderless[d.scope] = &loss{term: r.doors[d.scope].leader(), bound: bound}
}

// clients starts 16 clients that pass the fence with the current token, work and commit, again
// and again.
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

// over reports whether each affected scope is led again. All other scopes must always be led.
func (d *drill) over() bool {
	r, all := d.r, true
	for _, scope := range r.scopes {
		t, l := r.doors[scope].leader(), d.leaderless[scope]
		switch {
		case l == nil:
			if t == nil && r.wanted(scope) {
				r.Violated(Liveness, fmt.Sprintf("%s has no leader, although the drill is about %s", scope, d.scope))
			}
			continue
		case t != nil && t != l.term:
			delete(d.leaderless, scope)
			continue
		}
		all = false
		if l.since == 0 {
			l.since = l.term.endedAt
		}
		if l.since > 0 && r.w.Now()-l.since > l.bound {
			r.Violated(Liveness, fmt.Sprintf("%s could have a leader for %s and has none, although nothing else is wrong", scope, r.w.Now()-l.since))
		}
	}
	return all
}

// leader returns the term whose act door is open for its process, not only for callers.
func (j *doorJudge) leader() *tenure {
	now := j.r.w.Now()
	for _, t := range j.terms {
		if a, b := t.ownSpan(now, now+1); a < b && !t.shut {
			return t
		}
	}
	return nil
}

// wanted reports whether a node campaigns for a scope.
func (r *run) wanted(scope string) bool {
	return slices.ContainsFunc(r.nodes, func(n *node) bool { return n.campaigns(scope) })
}
