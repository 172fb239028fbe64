package electorate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/world"
)

// fault strikes once and schedules the next fault.
func (r *run) fault() {
	if r.quiet {
		return
	}
	r.w.After(r.w.Between(baseLease/20, baseLease), r.fault)
	n := r.victim()
	f := world.Weighed(r.w.Pick, faults, func(f fault) int { return f.weight })
	r.count("fault_" + f.name)
	r.w.Note(n.name, f.name, 0)
	f.strike(r, n)
}

// victim mostly picks a leader's node, where faults matter most.
func (r *run) victim() *node {
	scope := r.scopes[r.w.Pick(len(r.scopes))]
	return r.victimOf(scope)
}

func (r *run) victimOf(scope string) *node {
	n := r.nodes[r.w.Pick(len(r.nodes))]
	if terms := r.doors[scope].terms; len(terms) > 0 && r.w.Chance(0.7) {
		n = terms[len(terms)-1].p.node
	}
	return n
}

var errPoison = errors.New("electorate: a text with an invalid byte " + store.Poison)

type fault struct {
	name   string
	weight int
	strike func(*run, *node)
}

var faults = []fault{
	{"pause_short", 10, func(r *run, n *node) { r.each(n, func(p *process) { p.stop(r.w.Between(0, baseLease)) }) }},
	{"pause_long", 10, func(r *run, n *node) { r.each(n, func(p *process) { p.stop(r.w.Between(baseLease, 3*baseLease)) }) }},
	{"stall", 8, func(r *run, n *node) { r.each(n, func(p *process) { p.stallFor = r.w.Between(0, 2*baseLease) }) }},
	{"suspend", 8, func(r *run, n *node) { n.suspend(r.w.Between(baseLease/4, 3*baseLease)) }},
	{"kill", 10, func(r *run, n *node) { n.kill(r.w.Between(0, 2*baseLease)) }},
	{"zombie", 6, func(_ *run, n *node) { n.replace() }},
	{"part_up", 5, func(r *run, n *node) { r.cutOff(n, true, false) }},
	{"part_down", 5, func(r *run, n *node) { r.cutOff(n, false, true) }},
	{"part", 6, func(r *run, n *node) { r.cutOff(n, true, true) }},
	{"reset", 6, func(r *run, n *node) { r.reset(n) }},
	{"part_reset", 10, func(r *run, n *node) { r.cutOff(n, true, true); r.reset(n) }},
	{"ambush", 10, func(r *run, n *node) { r.each(n, func(p *process) { p.ambushed = true }) }},
	{"waylay", 8, func(r *run, n *node) { r.waylaid = true; r.stepDown(n, "") }},
	{"fail_beat", 8, func(r *run, n *node) {
		r.each(n, func(p *process) { p.failing = true })
		r.w.After(r.w.Between(baseLease/10, baseLease/2), func() { r.stepDown(n, "") })
	}},
	{"chain", 6, (*run).chain},
	{"step_down", 14, func(r *run, n *node) { r.stepDown(n, "") }},
	{"transfer", 8, func(r *run, n *node) { r.stepDown(n, r.nodes[r.w.Pick(len(r.nodes))].name) }},
	{"retire", 3, (*run).retire},
	{"rest", 1, func(r *run, n *node) {
		scope := r.scopes[r.w.Pick(len(r.scopes))]
		r.each(n, func(p *process) { p.post(core.Rest{Scope: scope, For: r.w.Between(0, 3*baseLease)}) })
	}},
	{"stop", 5, func(r *run, n *node) {
		r.each(n, func(p *process) {
			p.run(func() {
				p.post(core.Stop{Why: r.why(), Timeout: r.w.Between(0, 2*baseLease)})
				if f := p.flight; f != nil && f.opens { // a process that stops opens no session
					p.answer(f, lost())
				}
			})
		})
	}},
	{"role_ends", 3, func(r *run, n *node) {
		scope := r.scopes[r.w.Pick(len(r.scopes))]
		r.each(n, func(p *process) { p.run(p.runners[scope].endRole) })
	}},
	{"restart_db", 5, func(r *run, _ *node) { r.db.outage(r.w.Between(time.Millisecond, baseLease), -1) }},
	{"failover", 6, func(r *run, _ *node) { r.db.outage(r.w.Between(time.Millisecond, baseLease), r.w.Pick(8)*r.w.Pick(2)) }},
	{"part_failover", 6, func(r *run, n *node) {
		r.cutOff(n, true, true)
		r.db.outage(r.w.Between(time.Millisecond, baseLease/4), 1+r.w.Pick(4))
	}},
	{"unlock_all", 5, func(r *run, n *node) {
		r.each(n, func(p *process) {
			if p.conn != nil {
				r.db.unlock(p.conn.key)
			}
		})
	}},
	{"advance", 3, func(r *run, _ *node) { r.db.advance(r.scopes[r.w.Pick(len(r.scopes))]) }},
	{"lock_row", 5, func(r *run, _ *node) { r.db.lockRow(r.scopes[r.w.Pick(len(r.scopes))], r.w.Between(0, 3*baseLease)) }},
	{"clock_step", 4, func(r *run, _ *node) { r.db.stepped += r.w.Between(-time.Minute, time.Minute) }},
	{"clock_slew", 3, func(r *run, n *node) { n.clock.SetSpeed(int64(r.w.Pick(40_001) - 20_000)) }},
}

func (r *run) each(n *node, f func(*process)) {
	for _, p := range n.living() {
		f(p)
	}
}

// cutOff cuts the links between a node and the database for a while.
func (r *run) cutOff(n *node, up, down bool) {
	if up {
		r.net.Cut(n.name, databaseName)
	}
	if down {
		r.net.Cut(databaseName, n.name)
	}
	r.w.After(r.w.Between(baseLease/10, 3*baseLease), func() {
		r.net.Heal(n.name, databaseName)
		r.net.Heal(databaseName, n.name)
	})
}

// spring carries out an ambush: right after a successful heartbeat the node is cut off and its
// session ended. At no other moment does a gate stay open for longer.
func (r *run) spring(p *process) {
	p.ambushed = false
	r.w.Note(p.name, "ambushed", 0)
	r.cutOff(p.node, true, true)
	r.w.After(r.w.Between(0, 5*time.Millisecond), func() { r.reset(p.node) })
}

// waylay is an ambush on a bid that wins: the session ends at the server without the winner's
// knowledge, and the answer is late by up to a lease.
func (r *run) waylay(c *conn, reply func(core.Input)) func(core.Input) {
	return func(in core.Input) {
		tried, ok := in.(core.Tried)
		won := func(res mint.Result) bool { return res.Outcome == mint.Won }
		if !ok || !r.waylaid || r.quiet || !slices.ContainsFunc(tried.Results, won) {
			reply(in)
			return
		}
		r.waylaid = false
		r.w.Note(c.p.name, "waylaid", 0)
		r.cutOff(c.p.node, true, false)
		r.db.end(c.key)
		r.w.After(r.w.Between(0, c.p.set.Lease), func() { reply(in) })
	}
}

// reset ends a node's sessions at the server, as a broken middlebox or an
// administrator does.
func (r *run) reset(n *node) {
	r.each(n, func(p *process) {
		if c, f := p.conn, p.flight; c != nil {
			r.db.end(c.key)
			if f != nil {
				c.down.Reset(func() { p.run(func() { p.answer(f, lost()) }) })
			}
		}
	})
}

// chain takes a scope from one leader after the other, within about a lease.
func (r *run) chain(_ *node) {
	scope := r.scopes[r.w.Pick(len(r.scopes))]
	at := time.Duration(0)
	for i := range 2 + r.w.Pick(3) {
		r.w.After(at, func() {
			terms := r.doors[scope].terms
			if len(terms) == 0 || r.quiet {
				return
			}
			n := terms[len(terms)-1].p.node
			switch r.w.Pick(3) {
			case 0:
				n.kill(r.w.Between(0, 2*baseLease))
			case 1:
				r.stepDown(n, "")
			default:
				if i == 0 || r.w.Chance(0.5) {
					r.cutOff(n, true, true)
				}
				r.reset(n)
			}
		})
		at += r.w.Between(baseLease/100, baseLease/3)
	}
}

func (r *run) stepDown(n *node, to string) {
	scope := r.scopes[r.w.Pick(len(r.scopes))]
	timeout := r.w.Between(0, 3*baseLease)
	if r.w.Chance(0.5) { // callers ask right before
		r.callers[scope].ask(n)
	}
	r.each(n, func(p *process) {
		p.run(func() {
			p.post(core.Asked{StepDown: core.StepDown{Scope: scope, Why: r.why(), Timeout: timeout, To: to}})
		})
	})
}

// retire takes a scope away from a node and gives it back later, sometimes while its bid or
// term is still under way, and in an unequal world with another lease.
func (r *run) retire(n *node) {
	k := r.w.Pick(len(r.scopes))
	at := r.w.Between(0, 2*baseLease)
	if r.w.Chance(0.3) {
		at = r.w.Between(0, 5*time.Millisecond)
	}
	r.each(n, func(p *process) {
		if r.w.Chance(0.7) { // else the role only changes
			p.post(core.Retire{Scope: r.scopes[k]})
		}
	})
	r.w.After(at, func() {
		if r.cfg.UnequalLeases {
			n.change(k)
		}
		n.restore(k)
	})
}

// change gives the role of a scope another lease, not below those of the node's sessions.
func (n *node) change(k int) {
	lease := baseLease * time.Duration([]int{2, 3, 5, 8, 12}[n.r.w.Pick(5)]) / 4
	for _, p := range n.living() {
		lease = max(lease, p.set.Lease)
	}
	n.r.longest, n.r.shortest = max(n.r.longest, lease), min(n.r.shortest, lease)
	seats := slices.Clone(n.seats)
	seat := &seats[k]
	scaled := func(d time.Duration) time.Duration { return time.Duration(int64(d) * int64(lease) / int64(seat.Lease)) }
	seat.Late, seat.Margin, seat.Lease = scaled(seat.Late), scaled(seat.Margin), lease
	n.seats = seats
}

// restore makes every process of the node campaign for a scope again.
func (n *node) restore(k int) {
	n.r.each(n, func(p *process) { p.post(core.Add{Seat: n.seats[k]}) })
}

// why returns the reason of a drain, sometimes one that the mint cannot store.
func (r *run) why() error {
	if r.w.Chance(0.2) {
		return errPoison
	}
	return core.ErrStepDown
}

// kill ends the running process with SIGKILL and starts another later, with its name or a new one.
func (n *node) kill(down time.Duration) {
	if n.running == nil || n.running.dead {
		return
	}
	n.running.kill()
	n.startAgain(down)
}

// startAgain starts a process after a while, unless one runs by then.
func (n *node) startAgain(after time.Duration) {
	id := n.name
	if n.r.w.Chance(0.5) {
		n.r.serial++
		id = fmt.Sprintf("%s.%d", n.name, n.r.serial)
	}
	n.r.w.After(after, func() {
		if n.running == nil || n.running.dead {
			n.boot(id)
		}
	})
}

// replace starts a second process with the name of one that only stands still, as a supervisor
// does that takes it for dead.
func (n *node) replace() {
	old := n.running
	if old == nil || old.dead {
		return
	}
	old.stop(n.r.w.Between(baseLease/10, 2*baseLease))
	n.zombies = append(n.zombies, old)
	n.r.w.After(n.r.w.Between(2*baseLease, 8*baseLease), old.kill)
	n.boot(old.id)
}

// endFaults ends every fault; stopped processes still go on only when their time has come.
func (r *run) endFaults() {
	for _, n := range r.nodes {
		for _, z := range n.zombies {
			z.kill()
		}
		if n.running == nil || n.running.dead {
			n.startAgain(0)
		}
	}
	for k := range r.scopes {
		for _, n := range r.nodes {
			n.restore(k)
		}
	}
	r.net.Calm(r.places())
	for _, scope := range r.scopes {
		r.db.store.LockRow(scope, false)
	}
}
