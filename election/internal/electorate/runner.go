package electorate

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/fence"
)

// runner is the part of a process that leads one scope: the real gate, and a role that is played.
type runner struct {
	p     *process
	scope string
	lease time.Duration
	gate  *fence.Gate
	latch *fence.Latch
	term  *tenure // nil before the first

	outside   *fence.Gate   // for callers
	forgotten fence.Instant // what callers were promised when the gate was last suspended
	doing     bool          // Gate.Do has not begun its act yet
}

func newRunner(p *process, seat core.SeatSettings) *runner {
	rn := &runner{p: p, scope: seat.Scope, lease: seat.Lease}
	rn.gate, rn.latch = fence.New(seat.Scope, rn.look)
	rn.outside = rn.gate.Outside()
	return rn
}

// look is the gate's clock. Between a look and the act that it allows, the process may be delayed
// and the gate shut, so the act must be counted before the look.
func (rn *runner) look() fence.Instant {
	if rn.doing && rn.latch.Acts() == 0 {
		rn.p.r.Violated(GateRule, rn.scope+": Do looks at its clock before it counts its act")
	}
	return rn.p.now()
}

// moveGate moves the gate, as the world sees it too.
func (rn *runner) moveGate(m core.Move) {
	switch how := m.How.(type) {
	case core.Open:
		rn.open(how)
		return
	case core.Shut:
		rn.shut(how)
		return
	}
	m.To(rn.latch)
	switch how := m.How.(type) {
	case core.Extend:
		if t := rn.term; !t.shut {
			t.deadline = max(t.deadline, how.Deadline)
			t.prolong(how.Deadline)
			t.flag = t.flag || rn.p.now() >= t.actFrom
		}
	case core.Suspend:
		rn.forgotten = rn.latch.Answers()
		rn.term.deadline, rn.term.flag = 0, false
	}
}

func (rn *runner) open(a core.Open) {
	if rn.p.r.breaks("hold-from-reply") {
		a.ActFrom = a.ActFrom.Add(-rn.p.now().Sub(rn.p.bidSent))
	}
	rn.lease = rn.p.leases[rn.scope]
	t := &tenure{p: rn.p, token: a.Token, actFrom: a.ActFrom, deadline: a.Deadline, killAt: a.Deadline, key: rn.p.key()}
	t.standing.session = rn.p.sessions
	rn.term = t
	core.Move{How: a}.To(rn.latch)
	rn.p.r.doors[rn.scope].opened(t)
	rn.p.r.w.Note(rn.p.name, "opens "+rn.scope, a.Token.Epoch)
	rn.p.r.tellsOpen(t)
}

func (rn *runner) shut(a core.Shut) {
	t, r := rn.term, rn.p.r
	r.w.Note(rn.p.name, "shuts "+rn.scope, t.token.Epoch)
	r.tell(rn.p.node.name, "shuts its gate of epoch %d: %v", t.token.Epoch, cmp.Or(errors.Unwrap(a.Why), a.Why))
	if r.breaks("gate-before-role") {
		rn.p.after(r.w.Between(0, rn.lease), func() { rn.close(t, a.Why) })
		return
	}
	rn.close(t, a.Why)
}

// playRole begins the role.
func (rn *runner) playRole() {
	rn.role(rn.term)
	rn.fencedRole(rn.term)
}

func (rn *runner) enter() {
	rn.p.r.w.Note(rn.p.name, "enters "+rn.scope, rn.term.token.Epoch)
	rn.term.flag = true
}

// endRole ends the role unasked: it returns, fails or stalls.
func (rn *runner) endRole() {
	t := rn.term
	if t == nil || t.shut {
		return
	}
	rn.p.post(core.Resigned{Token: t.token, Err: []error{nil, errPoison, core.ErrStalled}[rn.p.r.w.Pick(3)]})
}

// cancelRole cancels the role, which returns later.
func (rn *runner) cancelRole() {
	t, r := rn.term, rn.p.r
	if r.breaks("shut-before-release") {
		rn.p.post(core.Returned{Scope: rn.scope})
		rn.p.post(core.Ended{Scope: rn.scope})
		return
	}
	back := r.w.Between(0, time.Millisecond)
	if !r.quiet && r.w.Chance(0.15) {
		back = r.w.Between(0, 2*rn.lease)
		// A command may act until it ends, or its keeper kills it at the last deadline.
		t.ending = true
	}
	rn.p.after(back, func() {
		t.ending = false
		rn.p.post(core.Returned{Scope: rn.scope})
	})
}

func (rn *runner) close(t *tenure, why error) {
	t.shut = true
	if rn.term == t {
		rn.latch.Shut(why)
		rn.p.r.doors[rn.scope].agree(t)
	}
}

// drainActs tells the loop when no act is counted and all answers to callers have expired.
func (rn *runner) drainActs() {
	if !rn.p.r.breaks("shut-before-release") {
		rn.term.draining = true
		rn.endIfDrained(rn.term)
	}
}

func (rn *runner) endIfDrained(t *tenure) {
	switch {
	case rn.waitsForAnswers(t):
		rn.p.after(rn.answers().Sub(rn.p.now()), func() { rn.endIfDrained(t) })
	case t.draining && t.counted == 0:
		t.draining, t.over = false, true
		rn.p.end(rn)
	}
}

// die is kill -9. A command that was begun behind the act door acts until its keeper kills it: at
// once, or at the last deadline.
func (rn *runner) die() {
	t := rn.term
	if t == nil {
		return
	}
	t.acts = 0
	now := rn.p.now()
	t.ending = !t.over && now >= t.actFrom && now < t.killAt && rn.p.r.w.Chance(0.5)
	if t.ending {
		rn.p.r.count("outlived")
	}
	rn.close(t, context.Canceled)
}

// role asks the act door again and again, for short and long acts.
func (rn *runner) role(t *tenure) {
	pause := rn.p.r.w.Between(rn.lease/20, rn.lease/3)
	rn.p.after(pause, func() {
		if t.shut || rn.term != t {
			return
		}
		rn.act(t)
		rn.role(t)
	})
}

func (rn *runner) act(t *tenure) {
	w := rn.p.r.w
	most := w.Between(time.Millisecond, rn.lease/20)
	switch p := w.Pick(10); {
	case p < 3:
		most = w.Between(time.Millisecond, rn.lease/3)
	case p < 4:
		most = w.Between(time.Millisecond, rn.lease)
	}
	let := false
	switch {
	case rn.p.r.breaks("compare-at-use"):
		let = t.flag
	case rn.p.r.breaks("count-then-check"):
		if rn.gate.Left(fence.Act) > most {
			rn.p.after(rn.p.r.stepDelay(), func() { rn.begin(t, w.Between(most/2, most)) })
		}
		return
	case rn.p.r.breaks("act-max"):
		let = rn.gate.IsOpen(fence.Act)
	default:
		rn.doing = true
		err := rn.gate.Do(context.Background(), fence.Act, most, func(context.Context, fence.Token) error {
			let = true
			return nil
		})
		rn.doing = false
		if err != nil && !errors.Is(err, fence.ErrShut) {
			rn.p.r.Violated(GateRule, err.Error())
		}
	}
	if !let {
		rn.p.r.count("acts_refused")
		return
	}
	lasts := w.Between(most/2, most)
	if rn.p.r.breaks("honest-max") {
		lasts *= 4
	}
	rn.begin(t, lasts)
}

// begin runs an act. The act ends in time even if the process stands still, but the process
// counts it until it moves again.
func (rn *runner) begin(t *tenure, lasts time.Duration) {
	r := rn.p.r
	r.count("acts")
	t.acts++
	t.counted++
	r.w.After(rn.p.node.clock.For(lasts), func() {
		if rn.p.dead {
			return
		}
		t.acts--
		if rn.p.stops > 0 {
			r.count("acts_frozen") // if it writes only after the thaw, only a fence can refuse it
		}
		rn.p.run(func() {
			t.counted--
			rn.endIfDrained(t)
		})
	})
}

// lowerFlags clears the expired flags, which stand for gates if compare-at-use is broken.
func (p *process) lowerFlags() {
	for _, scope := range p.r.scopes {
		if t := p.runners[scope].term; t != nil && p.now() >= t.deadline {
			t.flag = false
		}
	}
}
