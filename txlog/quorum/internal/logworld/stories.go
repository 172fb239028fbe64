package logworld

import (
	"time"

	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

// stories are small worlds that are told and that a text cannot say: one thing happens after the other. The others are in
// testdata/stories.
var stories = []scene{
	{Name: "v2-early", What: "story: results that come while a follower catches up are kept", Story: true, In: Config{Nodes: 4, Members: 3, Clients: 4, Faults: 14 * time.Second}, Plot: early},
	{Name: "v8-waiting-serves", What: "story: a follower that waits itself gives another one what it has", Story: true, In: Config{Nodes: 5, Members: 3, Clients: 1, Faults: 14 * time.Second}, Plot: waitingServes},
	{Name: "change-of-the-few", What: "story: all members are replaced, the disk of the leader is lost when it alone knows that the change is committed, and of those who leave one has no entry of it", Story: true, In: Config{Nodes: 7, Members: 3, Clients: 1, Faults: 40 * time.Second}, Plot: changeOfTheFew},
}

// led has something happen with the leader, once there is one.
func (r *run) led(f func(l *node)) {
	r.w.After(begins, func() {
		if l := r.leader(); r.Check(l != nil, AllAnswered, "nobody leads after %s", begins) {
			f(l)
		}
	})
}

// other returns a member that is not this one.
func (r *run) other(l *node) *node {
	for _, m := range r.members() {
		if n := r.byName[m.Name]; n != l {
			return n
		}
	}
	return l
}

// outsider is the first node that is no member.
func (r *run) outsider() *node { return r.outsiders()[0] }

// goals has a client ask for as many goals, one after the other.
func (c *client) goals(at *node, count int, then func()) {
	c.r.hint(c, "asks %s for %d goals, one after the other", at.name, count)
	c.hidden = true
	var next func()
	next = func() {
		if count--; count < 0 {
			c.hidden = false
			c.r.hint(c, "is answered: the last one is entry %d", c.now.answer.at.Index)
			then()
			return
		}
		c.after(c.asks(at, c.r.machine.Add(keys[4]), ""), next)
	}
	next()
}

// after goes on once an ask is answered.
func (c *client) after(a *ask, then func()) {
	c.r.w.When(round/10, func() bool { return a.done }, then)
}

// awayAt cuts the first outsider off, and joins it again after the goals.
func awayAt(r *run, count int, then func(n *node)) {
	c, n := r.clients[0], r.outsider()
	r.led(func(l *node) {
		r.tell(n, "is cut off at %d", n.at().Index)
		r.part([]*node{n}, r.except(n), 1)
		c.goals(l, count, func() {
			r.tell(n, "is cut off no longer, and is at %d; the log is at %d", n.at().Index, r.top())
			r.part([]*node{n}, r.except(n), -1)
			then(n)
		})
	})
}

// reports tells when a node has come to an index.
func (r *run) reports(n *node, index uint64) {
	if n.at().Index >= index {
		r.tell(n, "is at %d", n.at().Index)
		return
	}
	r.w.After(round/10, func() { r.reports(n, index) })
}

func early(r *run) {
	awayAt(r, 6, func(n *node) {
		kept := 0
		r.net.tardy = n
		r.w.Again(0, func() time.Duration {
			if n.process != nil {
				kept = max(kept, n.core.Status().Copy.Held)
			}
			if r.net.tardy != n {
				return 0
			}
			return round / 20
		})
		left := len(r.clients)
		ends := func() {
			if left--; left > 0 {
				return
			}
			r.net.tardy = nil
			r.reports(n, r.top())
			r.w.After(5*round, func() {
				r.Check(kept > 0, AllEqual, "%s has kept nothing that came early", n.name)
				r.tell(n, "keeps up to %d of what comes early", kept)
			})
		}
		for _, c := range r.clients {
			c.goals(r.leader(), 40, ends)
		}
	})
}

func waitingServes(r *run) {
	c := r.clients[0]
	out := r.outsiders()
	a, b := out[0], out[1]
	r.led(func(l *node) {
		r.tell(b, "is cut off at %d", b.at().Index)
		r.part([]*node{b}, r.except(b), 1)
		c.goals(l, 3, func() {
			r.w.After(5*round, func() {
				r.tell(a, "is cut off at %d, with %s alone", a.at().Index, b.name)
				r.part([]*node{a}, r.except(a, b), 1)
				r.part([]*node{b}, []*node{a}, -1)
				c.goals(l, 3, func() {
					r.w.After(round, func() { // the leader has said so by then
						a.put(core.Headed{Head: l.newest, Via: b.name})
						r.reports(b, a.at().Index)
						r.w.After(40*round, func() {
							known := a.core.Status().Copy.Known
							r.Check(known == r.top() && a.at().Index < known, AllEqual, "%s waits for nothing: it knows of %d", a.name, known)
							r.tell(a, "waits: it is at %d, and knows of %d", a.at().Index, known)
							r.tell(nil, "the network is whole again")
							r.part([]*node{a, b}, r.except(a, b), -1)
							r.net.cut = map[way]int{}
							r.reports(b, r.top())
						})
					})
				})
			})
		})
	})
}
