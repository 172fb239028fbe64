package crowd

import (
	"errors"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/core"
	"github.com/conchhq/conch/gossip/internal/hint"
)

// errUser is why a user withdraws its node.
var errUser = errors.New("its user cannot work")

// crash ends a process. Half of those that die take their host along: then nobody tells their peers, which notice the
// silence.
func (r *run) crash(n *node) {
	if !n.up {
		return
	}
	r.tell(n, "dies")
	r.pass()
	n.dark = r.w.Chance(0.5)
	if n.dark {
		r.silent(n, func(*node) bool { return true })
	}
	n.up = false
	r.trouble(n)
	r.serves(n, false)
	r.pass()
	n.believes = hint.Suggestion{}
	r.look()
	if !n.dark {
		for _, e := range n.ends {
			r.w.After(r.delay(), func() { r.ends(e.to, n, e.link) })
		}
	}
	n.ends = nil
}

// restart starts a process that was killed. It knows nothing of its last life but that it had one.
func (r *run) restart(n *node) {
	if n.up {
		return
	}
	r.tell(n, "starts again")
	n.boot()
	r.trouble(n)
}

// trouble notes that something is wrong with a node, or was until now.
func (r *run) trouble(n *node) { n.troubled = max(n.troubled, r.w.Now()) }

// review counts a node among those in service if nothing is wrong with it.
func (r *run) review(n *node) {
	r.trouble(n)
	r.serves(n, n.up && !n.paused && !n.deaf && !n.mute && n.side == 0)
	r.look()
}

func (r *run) deafen(n *node, is bool) {
	r.tell(n, "hears %s", map[bool]string{true: "nothing", false: "again"}[is])
	n.deaf = is
	r.review(n)
}

func (r *run) silence(n *node, is bool) {
	r.tell(n, "is %s", map[bool]string{true: "heard by nobody", false: "heard again"}[is])
	n.mute = is
	r.review(n)
}

func (r *run) pause(n *node, is bool) {
	r.tell(n, "%s", map[bool]string{true: "is frozen", false: "goes on with its old state"}[is])
	r.pass()
	n.paused = is
	r.review(n)
	if is {
		n.pauses++
		times := n.pauses
		r.silent(n, func(*node) bool { return n.paused && n.pauses == times })
		return
	}
	r.wakes(n)
}

// wakes has a process take at once what has happened while it was frozen, as the loop of an agent does. Then time passes.
func (r *run) wakes(n *node) {
	waits := n.waits
	n.waits, n.arrives = nil, &core.Arrived{}
	for _, what := range waits {
		n.does(what)
	}
	all, words := *n.arrives, n.learned
	n.arrives, n.learned = nil, nil
	n.arrived(all, words)
	n.step(core.Tick{})
}

// apart puts a node on a side of its own, or back: between sides nothing gets through.
func (r *run) apart(n *node, side int) {
	n.side = side
	r.review(n)
	r.silent(n, func(to *node) bool { return n.side != to.side })
}

// side puts nodes on a side of their own, or back.
func (r *run) side(nodes []*node, side int) {
	for _, n := range nodes {
		n.side = side
	}
	for _, n := range nodes {
		r.apart(n, side)
	}
	electors := 0
	for _, n := range nodes {
		if n.elector {
			electors++
		}
	}
	if electors*2 >= r.cfg.Electors { // those that stay have no majority, or there are no electors
		for _, n := range r.nodes {
			r.trouble(n)
		}
	}
}

// part parts the crowd for a time. Sides that are large count as one service each, so the judge looks at neither.
func (r *run) part(nodes []*node, wait time.Duration) {
	r.tell(nil, "the crowd is parted: %d nodes and %d, for %.0f rounds", len(nodes), len(r.nodes)-len(nodes), rounds(wait))
	r.side(nodes, 1)
	r.w.After(wait, func() {
		r.tell(nil, "the crowd is one again")
		r.side(nodes, 0)
		r.asks()
	})
}

// asks measures from now on how long all take to agree.
func (r *run) asks() {
	r.pass()
	if r.asked < 0 {
		r.asked = r.w.Now()
	}
	r.look()
}

// some draws a part of the nodes.
func (r *run) some(count int) []*node {
	all := slices.Clone(r.nodes)
	for i := range count {
		j := i + r.w.Pick(len(all)-i)
		all[i], all[j] = all[j], all[i]
	}
	return all[:count]
}

// fault does something bad, again and again.
func (r *run) fault() {
	if r.quiet {
		return
	}
	n := r.nodes[r.w.Pick(len(r.nodes))]
	if l := r.leader(); l != nil && r.w.Chance(0.4) {
		n = l
	}
	wait := r.w.Between(2*round, 40*round)
	switch r.w.Pick(9) {
	case 0, 1:
		r.crash(n)
		r.after(wait, func() { r.restart(n) })
	case 2:
		r.deafen(n, true)
		r.after(wait, func() { r.deafen(n, false) })
	case 3:
		r.silence(n, true)
		r.after(wait, func() { r.silence(n, false) })
	case 4:
		r.pause(n, true)
		r.after(wait, func() { r.pause(n, false) })
	case 5:
		if len(r.nodes) > 1 && n.side == 0 {
			r.part(r.some(1+r.w.Pick(len(r.nodes)-1)), wait)
		}
	case 6:
		r.cutOneWay(r.w.Between(round, 40*round))
	case 7:
		if r.withdrawn || len(r.nodes) < 3 { // where all have withdrawn nobody leads, and nobody should
			break
		}
		r.withdrawn = true
		r.withdraw(n)
	case 8:
		r.tell(n, "is cut off")
		r.apart(n, 2+r.w.Pick(1<<20))
		r.after(wait, func() { r.tell(n, "is no longer cut off"); r.apart(n, 0) })
	}
	r.w.After(r.w.Between(round, 30*round), r.fault)
}

// after does something while there are faults; the calm does it otherwise.
func (r *run) after(d time.Duration, f func()) {
	r.w.After(d, func() {
		if !r.quiet {
			f()
		}
	})
}

// withdraw has a node's user say that it cannot work.
func (r *run) withdraw(n *node) {
	r.tell(n, "withdraws")
	r.trouble(n)
	n.step(core.Withdraw{Namespace: namespace, Why: errUser})
}

// cutOneWay cuts some links in one direction, for a time.
func (r *run) cutOneWay(wait time.Duration) {
	var cut [][2]*node
	for _, n := range r.nodes {
		for _, e := range n.ends {
			if r.w.Chance(0.1) {
				cut = append(cut, [2]*node{n, e.to})
			}
		}
	}
	r.tell(nil, "%d links are cut in one direction, for %.0f rounds", len(cut), rounds(wait))
	for _, l := range cut {
		r.oneWay[l] = true
		for _, n := range l {
			n.troubled = max(n.troubled, r.w.Now()+wait)
		}
	}
	r.w.After(wait, func() {
		for _, l := range cut {
			delete(r.oneWay, l)
		}
	})
}

// calm ends the faults.
func (r *run) calm() {
	r.tell(nil, "has no more faults")
	r.quiet, r.oneWay = true, map[[2]*node]bool{}
	for _, n := range r.nodes {
		frozen := n.up && n.paused
		n.deaf, n.mute, n.paused, n.side = false, false, false, 0
		if !n.up {
			r.restart(n)
		}
		if frozen {
			r.wakes(n)
		}
	}
	for _, n := range r.nodes {
		r.review(n)
	}
	r.calmed = r.w.Now()
	r.asks()
	r.whole(heals * r.second)
}
