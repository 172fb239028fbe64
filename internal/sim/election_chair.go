package sim

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// chair is the part of a process that leads one scope: the real gate, and the role.
type chair struct {
	p     *process
	scope string
	lease time.Duration
	gate  *fence.Gate
	latch *fence.Latch
	term  *tenure // nil before the first
	back  bool    // the role of a shut term has returned

	outside   *fence.Gate   // for callers
	forgotten fence.Instant // what callers were promised when the gate was last suspended
	doing     bool          // Gate.Do has not begun its act yet
}

func newChair(p *process, seat election.SeatSettings) *chair {
	c := &chair{p: p, scope: seat.Scope, lease: seat.Lease}
	c.gate, c.latch = fence.New(seat.Scope, c.look)
	c.outside = c.gate.Outside()
	return c
}

// look is the gate's clock. Between a look and the act that it allows, the process may be delayed
// and the gate shut, so the act must be counted before the look.
func (c *chair) look() fence.Instant {
	if c.doing && c.latch.Acts() == 0 {
		c.p.r.violated(GateRule, c.scope+": Do looks at its clock before it counts its act")
	}
	return c.p.now()
}

func (c *chair) open(a election.Open) {
	if c.p.r.breaks("hold-from-reply") {
		a.ActFrom = a.ActFrom.Add(-c.p.now().Sub(c.p.tried))
	}
	c.lease = c.p.leases[c.scope]
	t := &tenure{p: c.p, token: a.Token, actFrom: a.ActFrom, deadline: a.Deadline, killAt: a.Deadline, key: c.p.key()}
	t.standing.session = c.p.sessions
	c.term, c.back = t, false
	c.latch.Open(a.Token, a.ActFrom, a.Deadline)
	c.p.r.doors[c.scope].opened(t)
	c.p.r.w.Note(c.p.name, "opens "+c.scope, a.Token.Epoch)
	c.role(t)
	c.fencedRole(t)
}

func (c *chair) enter() {
	c.p.r.w.Note(c.p.name, "enters "+c.scope, c.term.token.Epoch)
	c.term.flag = true
}

func (c *chair) extend(d fence.Instant) {
	c.latch.Extend(d)
	if t := c.term; !t.shut {
		t.deadline = max(t.deadline, d)
		t.prolong(d)
		t.flag = t.flag || c.p.now() >= t.actFrom
	}
}

func (c *chair) suspend() {
	c.latch.Suspend()
	c.forgotten = c.latch.Answers()
	c.term.deadline, c.term.flag = 0, false
}

// shut shuts the gate. Later the role returns, then its last act ends, then the loop is told.
func (c *chair) shut(why error) {
	t, r := c.term, c.p.r
	r.w.Note(c.p.name, "shuts "+c.scope, t.token.Epoch)
	if r.breaks("gate-before-role") {
		c.p.after(r.w.Between(0, c.lease), func() { c.close(t, why) })
	} else {
		c.close(t, why)
	}
	if r.breaks("shut-before-release") {
		c.p.post(election.Ended{Scope: c.scope})
		return
	}
	back := r.w.Between(0, time.Millisecond)
	if !r.quiet && r.w.Chance(0.15) {
		back = r.w.Between(0, 2*c.lease)
		// A command may act until it ends, or its keeper kills it at the last deadline.
		t.ending = true
	}
	c.p.after(back, func() {
		c.back, t.ending = true, false
		c.ended(t)
	})
}

func (c *chair) close(t *tenure, why error) {
	t.shut = true
	if c.term == t {
		c.latch.Shut(why)
		c.p.r.doors[c.scope].agree(t)
	}
}

// ended tells the loop that the term is over, once the role has returned, no act is counted and
// all answers to callers have expired.
func (c *chair) ended(t *tenure) {
	switch {
	case c.waitsForAnswers(t):
		c.p.after(c.answers().Sub(c.p.now()), func() { c.ended(t) })
	case c.term == t && c.back && t.counted == 0:
		c.back, t.over = false, true
		c.p.end(c)
	}
}

// die is kill -9. A command that was begun behind the act door acts until its keeper kills it: at
// once, or at the last deadline.
func (c *chair) die() {
	t := c.term
	if t == nil {
		return
	}
	t.acts = 0
	now := c.p.now()
	t.ending = !t.over && now >= t.actFrom && now < t.killAt && c.p.r.w.Chance(0.5)
	if t.ending {
		c.p.r.count("outlived")
	}
	c.close(t, context.Canceled)
}

// role asks the act door again and again, for short and long acts.
func (c *chair) role(t *tenure) {
	pause := c.p.r.w.Between(c.lease/20, c.lease/3)
	c.p.after(pause, func() {
		if t.shut || c.term != t {
			return
		}
		c.act(t)
		c.role(t)
	})
}

func (c *chair) act(t *tenure) {
	w := c.p.r.w
	most := w.Between(time.Millisecond, c.lease/20)
	switch p := w.Pick(10); {
	case p < 3:
		most = w.Between(time.Millisecond, c.lease/3)
	case p < 4:
		most = w.Between(time.Millisecond, c.lease)
	}
	let := false
	switch {
	case c.p.r.breaks("compare-at-use"):
		let = t.flag
	case c.p.r.breaks("count-then-check"):
		if c.gate.Left(fence.Act) > most {
			c.p.after(c.p.r.heldUp(), func() { c.begin(t, w.Between(most/2, most)) })
		}
		return
	case c.p.r.breaks("act-max"):
		let = c.gate.IsOpen(fence.Act)
	default:
		c.doing = true
		err := c.gate.Do(context.Background(), fence.Act, most, func(context.Context, fence.Token) error {
			let = true
			return nil
		})
		c.doing = false
		if err != nil && !errors.Is(err, fence.ErrShut) {
			c.p.r.violated(GateRule, err.Error())
		}
	}
	if !let {
		c.p.r.count("acts_refused")
		return
	}
	lasts := w.Between(most/2, most)
	if c.p.r.breaks("honest-max") {
		lasts *= 4
	}
	c.begin(t, lasts)
}

// begin runs an act. The act ends in time even if the process stands still, but the process
// counts it until it moves again.
func (c *chair) begin(t *tenure, lasts time.Duration) {
	r := c.p.r
	r.count("acts")
	t.acts++
	t.counted++
	r.w.After(c.p.node.clock.For(lasts), func() {
		if c.p.dead {
			return
		}
		t.acts--
		if c.p.stops > 0 {
			r.count("acts_frozen") // if it writes only after the thaw, only a fence can refuse it
		}
		c.p.run(func() {
			t.counted--
			c.ended(t)
		})
	})
}

// lowerFlags clears the expired flags, which stand for gates if compare-at-use is broken.
func (p *process) lowerFlags() {
	for _, scope := range p.r.scopes {
		if t := p.chairs[scope].term; t != nil && p.now() >= t.deadline {
			t.flag = false
		}
	}
}
