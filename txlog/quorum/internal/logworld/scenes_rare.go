package logworld

import (
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// jointly has the members replaced by others at once, and a majority of the old ones die at one of the instants at which somebody
// stores the change or knows it to be committed: both sets decide until it ends.
func jointly(r *run) {
	every(120, func(r *run) {
		l, old := r.leader(), slices.Clone(r.members())
		if l == nil || r.changing() || !r.everyoneIsIn() {
			return
		}
		var next []txlog.Member
		if len(old) > 1 && r.w.Chance(0.5) {
			next = append(next, old[r.w.Pick(len(old))])
		}
		all := r.outsiders()
		for _, i := range r.shuffled(len(all)) {
			if n := all[i]; len(next) < len(old) {
				next = append(next, txlog.Member{Name: n.name, Key: fingerprint(n.key), Store: n.disk.id})
			}
		}
		r.asksChange(l, next)
		r.signs, r.middle = 1+r.w.Pick(6), func() {
			for _, i := range r.shuffled(len(old))[:txlog.Majority(old)] {
				r.kill(r.byName[old[i].Name], r.w.Chance(0.5), r.w.Between(5*round, 60*round))
			}
		}
	})(r)
}

// liar has a member sign heads of what comes next and of what will never come, beside true ones.
func liar(r *run) {
	n := r.byName[r.members()[r.w.Pick(len(r.members()))].Name]
	r.liar = n.name
	every(15, func(r *run) {
		if n.process == nil {
			return
		}
		h := txlog.Head{Member: n.name, State: txlog.Hash{byte(r.w.Draw())}, Position: txlog.Position{
			Log: r.id, Index: r.top() + 1<<r.w.Pick(40), Term: n.term + uint64(r.w.Pick(3)), Hash: txlog.Hash{byte(r.w.Draw()), 1},
		}}.Sign(n.key)
		r.Stats["lies"]++
		for _, to := range r.except(n) {
			r.carry(n, to, func() core.Input { return core.Headed{Head: h, Via: n.name} })
		}
	})(r)
	every(90, func(r *run) { r.kill(r.leader(), r.w.Chance(0.5), r.w.Between(2*round, 30*round)) })(r)
}

// inTheMiddle counts the signs of a change of members that goes on.
func (r *run) inTheMiddle(p *majority.Persist) {
	change := slices.ContainsFunc(p.Entries, func(e majority.Entry) bool { return e.Change && len(e.Data) > 0 })
	if r.middle == nil || !change && (p.Mark == nil || len(p.Mark.Leaving) == 0) {
		return
	}
	if r.signs--; r.signs == 0 {
		r.w.After(r.w.Between(0, round/10), r.middle)
		r.middle = nil
	}
}

// deposed has a leader be heard by one other member at most, when goals of several nodes are in flight: it hears who leads next,
// and what it has executed is stored by two, by itself, or by nobody.
func deposed(r *run) {
	r.hurry()
	every(50, func(r *run) {
		for i, c := range r.clients {
			c.home = r.nodes[i%len(r.nodes)]
		}
		r.inFlight(3, func(l *node) {
			deaf := r.except(l)
			if r.w.Chance(0.5) {
				deaf = r.except(l, r.another())
			}
			r.tell(l, "is heard by %d of the others, and goals of several nodes are in flight", len(r.nodes)-1-len(deaf))
			wait := r.w.Between(8*round, 25*round)
			for _, n := range deaf {
				r.oneWay(l, n, wait)
			}
		})
	})(r)
}

// inFlight has something happen as soon as clients of so many nodes wait for goals and another node leads.
func (r *run) inFlight(nodes int, do func(l *node)) {
	at := map[*node]bool{}
	l := r.leader()
	for _, c := range r.clients {
		if c.now != nil && !c.now.done && c.now.goal != nil && c.home != l {
			at[c.home] = true
		}
	}
	switch {
	case l != nil && len(at) >= nodes:
		do(l)
	case !r.quiet:
		r.w.After(round/20, func() { r.inFlight(nodes, do) })
	}
}

// changeOfTheFew has all members be replaced. Two store the change, and the leader tells a follower alone that it is committed, and
// loses its disk. The other one learns it of that follower, while the one that has no entry of it is away, and starts again.
func changeOfTheFew(r *run) {
	r.led(func(l *node) {
		heir, all := r.other(l), r.outsiders()
		late := r.except(append(slices.Clone(all), l, heir)...)[0]
		var next []txlog.Member
		for _, n := range all[:3] {
			next = append(next, txlog.Member{Name: n.name, Key: fingerprint(n.key), Store: n.disk.id})
		}
		r.tell(late, "is cut off; %s does not reach those who come", l.name)
		r.part([]*node{late}, r.except(late), 1)
		r.part([]*node{l}, all[:3], 1)
		r.asksChange(l, next)
		r.signs, r.middle = 2, func() { // when both have stored it
			r.tell(heir, "has stored the change, and does not hear %s any more", l.name)
			r.cut(way{l, heir}, 1)
			r.w.After(5*round, func() {
				l.losesDisk(300 * round)
			})
			r.w.After(100*round, func() { r.kill(heir, false, 5*round) })
			r.w.After(120*round, func() {
				r.tell(late, "is cut off no longer")
				r.part([]*node{late}, r.except(late), -1)
				r.clients[0].asks(all[0], r.machine.Put(keys[0], 1), "")
			})
			r.w.After(300*round, func() {
				r.Check(r.leader() != nil && slices.Contains(all[:3], r.leader()), AllAnswered, "none of the new members leads")
			})
		}
	})
}

// asksOpenly has a leader propose other members, and tells what came of it.
func (r *run) asksOpenly(l *node, members []txlog.Member) {
	l.waiting[l.ticket+1] = func(a txlog.Answer, err error) {
		if err == nil {
			r.tell(l, "has changed them: entry %d", a.Index)
		} else {
			r.tell(l, "refuses: %v", err)
		}
	}
	r.asksChange(l, members)
}
