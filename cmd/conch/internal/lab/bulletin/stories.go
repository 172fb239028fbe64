package bulletin

import (
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/host"
)

// stories are small worlds that are told: one thing happens after the other.
var stories = []scene{
	{Name: "same-answer", What: "story: a leader dies when a goal is committed and not answered; asked again, it is the same entry", Story: true, In: Config{Nodes: 3, Clients: 1, Faults: 12 * time.Second}, Plot: sameAnswer},
	{Name: "v1-history", What: "story: a follower was away, and history brings it each entry with its diff", Story: true, In: Config{Nodes: 4, Members: 3, Clients: 1, Faults: 14 * time.Second}, Plot: away},
	{Name: "v2-early", What: "story: results that come while a follower catches up are kept", Story: true, In: Config{Nodes: 4, Members: 3, Clients: 4, Faults: 14 * time.Second}, Plot: early},
	{Name: "v3-faulty-goal", What: "story: a goal that fails is an entry at all nodes", Story: true, In: Config{Nodes: 3, Clients: 1, Faults: 8 * time.Second}, Plot: faultyGoal},
	{Name: "v4-nothing-stays", What: "story: of a goal that fails half-way nothing stays", Story: true, In: Config{Nodes: 3, Clients: 1, Faults: 8 * time.Second}, Plot: nothingStays},
	{Name: "v5-from-snapshot", What: "story: a node that began with a snapshot applies the same diffs", Story: true, In: Config{Nodes: 4, Members: 3, Clients: 1, Faults: 40 * time.Second}, Plot: fromSnapshot},
	{Name: "v6-stranger", What: "story: a head that no member has signed moves nobody, and neither does what a deposed leader has not committed", Story: true, In: Config{Nodes: 4, Members: 3, Clients: 2, Faults: 14 * time.Second}, Plot: stranger},
	{Name: "v7-wrong-memory", What: "story: a leader's memory is wrong, and the others refuse what it sends", Story: true, In: Config{Nodes: 3, Clients: 1, Faults: 20 * time.Second}, Plot: wrongMemory},
	{Name: "wrong-memory-of-two", What: "story: of three members one is away, the leader's memory is wrong, and its disk is needed: the log goes on", Story: true, In: Config{Nodes: 3, Clients: 1, Faults: 24 * time.Second}, Plot: wrongMemoryOfTwo},
	{Name: "v8-waiting-serves", What: "story: a follower that waits itself gives another one what it has", Story: true, In: Config{Nodes: 5, Members: 3, Clients: 1, Faults: 14 * time.Second}, Plot: waitingServes},
	{Name: "root-at-17", What: "story: a node is at 17 and lacks 18 while the leader is at 25", Story: true, In: Config{Nodes: 4, Members: 3, Clients: 1, Faults: 20 * time.Second}, Plot: rootAt17},
	{Name: "partition", What: "story: five members, two of which are cut off with the leader", Story: true, In: Config{Nodes: 5, Clients: 2, Faults: 16 * time.Second}, Plot: partition},
	{Name: "leader-change", What: "story: a goal is under way while the leader dies, and the node that waits for it leads next", Story: true, In: Config{Nodes: 3, Clients: 1, Faults: 12 * time.Second}, Plot: leaderChange},
	{Name: "change-of-the-few", What: "story: all members are replaced, the disk of the leader is lost when it alone knows that the change is committed, and of those who leave one has no entry of it", Story: true, In: Config{Nodes: 7, Members: 3, Clients: 1, Faults: 40 * time.Second}, Plot: changeOfTheFew},
	{Name: "change-while-a-store-waits", What: "story: a member's new store waits to be admitted when another member is to be taken out; then a third one loses its disk", Story: true, In: Config{Nodes: 5, Clients: 1, Faults: 20 * time.Second}, Plot: changeWhileAStoreWaits},
}

// at has something happen some rounds after the begin.
func (r *run) at(rounds int, f func()) { r.w.After(time.Duration(rounds)*round-r.w.Now(), f) }

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
		c.after(c.asks(at, addGoal(keys[4]), ""), next)
	}
	next()
}

// after goes on once an ask is answered.
func (c *client) after(a *ask, then func()) { c.r.when(func() bool { return a.done }, then) }

func sameAnswer(r *run) {
	c := r.clients[0]
	r.led(func(l *node) {
		r.traps = append(r.traps, &trap{point: committed, on: l, wait: 40 * round})
		a := c.asks(l, putGoal(keys[0], 1), "")
		c.after(a, func() {
			again := &ask{by: c, id: a.id, goal: a.goal, since: a.since, again: true}
			c.begins(again)
			c.after(again, func() {
				r.Check(again.answer.at.Index == a.answer.at.Index, Once, "asked again, it is entry %d, and was %d", again.answer.at.Index, a.answer.at.Index)
				r.tell(nil, "the answer is the same")
			})
		})
	})
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

func away(r *run) {
	awayAt(r, 6, func(n *node) {
		r.reports(n, r.top())
		r.w.After(20*round, func() {
			r.Check(n.executions == 0, AllEqual, "%s has executed %d goals, and decides nothing", n.name, n.executions)
			r.tell(n, "has executed %d goals", n.executions)
		})
	})
}

func early(r *run) {
	awayAt(r, 6, func(n *node) {
		kept := 0
		var looks func()
		looks = func() {
			if n.process != nil {
				kept = max(kept, n.core.Status().Copy.Held)
			}
			if r.net.tardy == n {
				r.w.After(round/20, looks)
			}
		}
		r.net.tardy = n
		looks()
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

func faultyGoal(r *run) {
	c := r.clients[0]
	r.led(func(l *node) {
		a := c.asks(l, []byte("no goal at all"), "")
		c.after(a, func() {
			for _, n := range r.nodes {
				r.reports(n, a.answer.at.Index)
			}
		})
	})
}

func nothingStays(r *run) {
	c := r.clients[0]
	r.led(func(l *node) {
		a := c.asks(l, halfGoal(keys[0], keys[1]), "")
		c.after(a, func() { c.asks(l, nil, keys[0]) })
	})
}

func fromSnapshot(r *run) {
	c, n := r.clients[0], r.outsider()
	r.led(func(l *node) {
		c.goals(l, 2*snapshotEvery, func() {
			r.tell(n, "loses its disk; the log is at %d", r.top())
			n.crash(true)
			n.newStore()
			n.restarts(5 * round)
			r.w.After(10*round, func() {
				r.reports(n, r.top())
				c.goals(l, 2, func() { r.reports(n, r.top()) })
			})
		})
	})
}

func stranger(r *run) {
	c, n := r.clients[0], r.outsider()
	r.led(func(l *node) {
		c.after(c.asks(l, putGoal(keys[0], 1), ""), func() {
			h := txlog.Head{Position: txlog.Position{Log: r.genesis.ID(), Index: r.top() + 1, Term: l.term, Hash: txlog.Hash{1}}, Member: l.name}
			r.tell(n, "is told of a head at %d that somebody else has signed", h.Index)
			n.put(host.Headed{Head: h.Sign(n.key), Via: l.name})
			r.w.After(5*round, func() {
				r.Check(n.at().Index == r.top(), NeverAhead, "%s is at %d", n.name, n.at().Index)
				r.tell(n, "is at %d; it has refused %d heads", n.at().Index, r.Stats["refused"])
				r.tell(l, "is cut off, and %s with it", n.name)
				r.part([]*node{l, n}, r.except(l, n), 1)
				c.asks(l, putGoal(keys[0], 2), "")
				r.w.After(3*round, func() { r.tell(n, "is at %d", n.at().Index) })
				r.w.After(30*round, func() {
					r.tell(nil, "the network is whole again")
					r.part([]*node{l, n}, r.except(l, n), -1)
				})
			})
		})
	})
}

func wrongMemory(r *run) {
	c := r.clients[0]
	r.led(func(l *node) {
		c.after(c.asks(l, putGoal(keys[0], 1), ""), func() {
			l.flips(keys[0])
			c.asks(l, putGoal(keys[0], 2), "")
		})
	})
}

// wrongMemoryOfTwo has the members that are there need the disk on which the wrong entry is.
func wrongMemoryOfTwo(r *run) {
	c := r.clients[0]
	r.led(func(l *node) {
		away := r.other(l)
		r.kill(away, false, 180*round)
		c.after(c.asks(l, putGoal(keys[0], 1), ""), func() {
			l.flips(keys[0])
			a := c.asks(l, putGoal(keys[0], 2), "")
			c.after(a, func() { r.Check(!away.up, AllAnswered, "the goal is answered only when %s is back", away.name) })
		})
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
						a.put(host.Headed{Head: l.newest, Via: b.name})
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

func rootAt17(r *run) {
	c, n := r.clients[0], r.outsider()
	r.led(func(l *node) {
		c.goals(l, 17-int(r.top()), func() {
			r.w.After(5*round, func() {
				r.tell(n, "is at %d, and is cut off", n.at().Index)
				r.part([]*node{n}, r.except(n), 1)
				c.goals(l, 8, func() {
					r.tell(l, "is at %d", r.top())
					r.part([]*node{n}, r.except(n), -1)
					r.reports(n, r.top())
				})
			})
		})
	})
}

func partition(r *run) {
	c, d := r.clients[0], r.clients[1]
	r.led(func(l *node) {
		o := r.other(l)
		few := []*node{l, o}
		r.tell(nil, "%s, which leads, and %s are cut off", l.name, o.name)
		r.part(few, r.except(few...), 1)
		c.asks(l, putGoal(keys[0], 1), "")
		d.asks(r.except(few...)[0], putGoal(keys[0], 2), "")
		r.at(90, func() {
			r.tell(nil, "the network is whole again")
			r.part(few, r.except(few...), -1)
		})
	})
}

func leaderChange(r *run) {
	c := r.clients[0]
	r.led(func(l *node) {
		next := r.other(l)
		r.suggests(next)
		r.traps = append(r.traps, &trap{point: received, on: l, wait: 50 * round})
		a := c.asks(next, putGoal(keys[0], 1), "")
		c.after(a, func() {
			r.Check(r.Stats["changes_noticed"] > 0, AllAnswered, "%s has not said that the leader changed while %s waited", next.name, a.id)
		})
	})
}
