package logworld

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/txlog"
)

// working is for how long the clients go on after the faults: some scrubs come by.
const working = 12 * time.Second

// calm ends the faults.
func (r *run) calm() {
	r.quiet = true
	r.tell(nil, "the faults are over")
	clear(r.net.cut)
	r.traps, r.flaps = nil, 0
	r.cfg.Loss, r.cfg.Stalls = 0, false
	r.fair()
	for _, n := range r.nodes {
		if !n.up {
			n.restarts(r.w.Between(round, 5*round))
		}
		if n.paused {
			n.paused = false
			n.loop()
		}
	}
	r.w.After(working, func() { r.over = true })
}

// settled reports whether everything is over: all goals answered, all copies equal, all effects performed.
func (r *run) settled() bool {
	for _, c := range r.clients {
		if c.now != nil && !c.now.done {
			return false
		}
	}
	for _, n := range r.nodes {
		if !n.up || n.process == nil || n.at().Index != r.top() {
			return false
		}
	}
	for key := range r.wanted {
		if r.performed[key] == 0 {
			return false
		}
	}
	return r.everyoneIsIn()
}

// at is where a node's copy is.
func (n *node) at() txlog.Position {
	if n.process == nil {
		return txlog.Position{}
	}
	return n.core.Status().Position
}

// everyoneIsIn reports whether each member has the store that the members know.
func (r *run) everyoneIsIn() bool {
	return !slices.ContainsFunc(r.members(), func(m txlog.Member) bool { return r.byName[m.Name].disk.id != m.Store })
}

// conclude looks at the whole, once all should be over.
func (r *run) conclude() {
	if r.stops {
		r.concludeStopped()
		return
	}
	for _, c := range r.clients {
		if a := c.now; a != nil && !a.done {
			r.Check(false, AllAnswered, "%s waits for %s since %s, for %d tries", c.name, a.id, a.begun.Round(time.Millisecond), a.tries)
		}
	}
	for _, n := range r.nodes {
		if r.Check(n.up && n.process != nil, AllEqual, "%s does not run", n.name) {
			r.equal(n)
		}
	}
	for _, m := range r.members() {
		n := r.byName[m.Name]
		r.Check(n.disk.id == m.Store, AllEqual, "the new store of %s was never admitted", n.name)
	}
	for key := range r.wanted {
		r.Check(r.performed[key] > 0, Performed, "effect %d of entry %d was never performed", key.N, key.Index)
	}
	for _, a := range r.asks {
		if a.answer.verdict == failed {
			index, is := r.goals[a.id]
			r.Check(!is || a.misuse, NeverFailed, "%s was told that %s has failed (%v), and it is entry %d", a.by.name, a.id, a.answer.why, index)
		}
	}
	for _, t := range r.told {
		index, is := r.goals[t.goal]
		r.Check(!is, NeverFailed, "%s has told that %s is not executed (%v), and it is entry %d", t.n.name, t.goal, t.why, index)
	}
	r.Check(r.Stats["acknowledged"] > 0, AllAnswered, "nothing was acknowledged")
}

// equal wants a node's copy to be the log's.
func (r *run) equal(n *node) {
	at := n.at()
	if !r.Check(at.Index == r.top(), AllEqual, "%s is at %d, and the log at %d (%s)", n.name, at.Index, r.top(), n.parts()) || at.Index == 0 {
		return
	}
	r.Check(at.Hash == r.log[at.Index-1].Hash(), AllEqual, "%s has another entry %d", n.name, at.Index)
	known := n.core.Status().Copy.Known
	r.Check(known <= at.Index, LiesDenied, "%s takes entry %d for committed, and there are %d", n.name, known, at.Index)
	for _, key := range keys {
		got, _, err := n.core.Query(r.machine.Get(key))
		want, _ := r.pure.Query(r.machine.Get(key))
		r.Check(r.spoiled || err == nil && bytes.Equal(got, want), AllEqual, "%s has %q for %s, and it is %q", n.name, got, key, want)
	}
}

// parts says where the parts of a node are.
func (n *node) parts() string {
	s := n.core.Status()
	text := fmt.Sprintf("the follower is at %d, knows of %d, follows: %t, fetches: %t", s.Copy.At.Index, s.Copy.Known, s.Copy.Following, s.Copy.Fetching)
	if m, q := s.Member, s.Quorum; m != nil {
		text += fmt.Sprintf("; the member is at %d of %d, leader %q in term %d, rebuilding: %t; the authority is at %d, stored %d, member: %t, behind: %t",
			m.Position.Index, m.Committed, m.Leader, m.Term, m.Rebuilding, q.Committed.Index, q.Stored, q.Member, q.Behind)
	}
	return text
}

// concludeStopped wants that a log without a majority of its disks has acknowledged nothing since, and that each member that is
// left says which command begins a new lineage.
func (r *run) concludeStopped() {
	r.Check(r.acked <= r.stopped, SaysWhatToDo, "entry %d was acknowledged, and a majority of the disks was lost at %d", r.acked, r.stopped)
	left := 0
	for _, m := range r.members() {
		n := r.byName[m.Name]
		if n.disk.id != m.Store || n.process == nil {
			continue
		}
		q := n.core.Status().Quorum
		if q == nil {
			continue
		}
		left++
		advice := q.Advice
		r.tell(n, "says: %s", advice)
		r.Check(strings.Contains(advice, "conch log recover"), SaysWhatToDo, "%s says %q", n.name, advice)
	}
	r.Check(left == 1, SaysWhatToDo, "%d of the members are left", left)
}
