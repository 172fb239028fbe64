package electorate

import (
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/world"
)

// caller is a program elsewhere that asks a node over the network whether it may act. It counts
// the validity of an answer from the moment at which it asked.
type caller struct {
	r     *run
	scope string
	name  string
	clock *world.Clock
}

// newCaller returns a caller whose clock is 7.2 % slow to 10 % fast; a node's is within 2 %.
func newCaller(r *run, scope string) *caller {
	return &caller{r: r, scope: scope, name: "caller of " + scope, clock: r.w.NewClock(0, int64(r.w.Pick(172_001)-72_000))}
}

// call asks again and again, mostly the leader's node.
func (c *caller) call() {
	w := c.r.w
	w.After(w.Between(baseLease/8, baseLease), func() {
		c.call()
		c.ask(c.r.victimOf(c.scope))
	})
}

func (c *caller) ask(n *node) {
	w := c.r.w
	life, sent := fence.AnswerLife, w.Now()
	if !c.r.quiet && w.Chance(0.4) {
		life = w.Between(baseLease/20, 2*baseLease)
	}
	for _, p := range n.living() {
		c.r.net.Tell(c.name, n.name, func() { p.run(func() { p.runners[c.scope].asked(c, sent, life) }) })
	}
}

// asked is the handler of a node. It may be delayed between the gate's answer and the reply.
func (rn *runner) asked(by *caller, sent, life time.Duration) {
	r, t := rn.p.r, rn.term
	delay := r.stepDelay()
	if r.breaks("remember-then-look") {
		left := min(life, rn.outside.Left(fence.Act))
		if left > 0 {
			t.answeredUntil = max(t.answeredUntil, sent+by.clock.For(left))
			rn.p.after(delay, func() {
				_, _, _ = rn.outside.Answer(fence.Act, life)
				rn.tell(by, t, sent+by.clock.For(left))
			})
		}
		return
	}
	_, left, err := rn.outside.Answer(fence.Act, life)
	if err != nil {
		r.count("answers_refused")
		return
	}
	if r.breaks("answer-within-deadline") {
		left = life
	}
	t.answeredUntil = max(t.answeredUntil, sent+by.clock.For(left))
	rn.p.after(delay, func() { rn.tell(by, t, sent+by.clock.For(left)) })
}

// stepDelay draws the delay between two steps: of a thread that waits for a processor, or of a
// machine that swaps.
func (r *run) stepDelay() time.Duration {
	if !r.quiet && r.w.Chance(0.4) {
		return r.w.Between(0, baseLease/2)
	}
	return r.w.Between(0, time.Millisecond)
}

// work begins transactions above READ COMMITTED and asks for a token only later, so that their
// snapshot of the row may be older than the token.
func (c *caller) work() {
	w, db := c.r.w, c.r.db
	w.After(w.Between(baseLease/4, 2*baseLease), func() {
		c.work()
		if db.down || c.r.quiet {
			return
		}
		seen, begun := db.store.See(c.scope), db.starts
		fenced := func(token fence.Token) {
			if db.expire(); !db.down && db.starts == begun {
				db.passFence(token, true, seen, db.transaction(), func() bool { return w.Chance(0.1) })
			}
		}
		w.After(w.Between(0, baseLease/2), func() {
			n := c.r.victimOf(c.scope)
			for _, p := range n.living() {
				p.run(func() {
					if token, err := p.runners[c.scope].outside.Require(fence.Fenced); err == nil {
						c.r.net.Tell(n.name, databaseName, func() { db.queue(c.scope, func() { fenced(token) }) })
					}
				})
			}
		})
	})
}

// tell sends the answer, which outlives the process that gave it.
func (rn *runner) tell(by *caller, t *tenure, until time.Duration) {
	r := rn.p.r
	r.net.Tell(rn.p.node.name, by.name, func() {
		if r.w.Now() >= until {
			r.count("answers_late")
			return
		}
		r.count("answers")
		r.w.Note(by.name, "may act for", int64(until-r.w.Now()))
		t.heardUntil = max(t.heardUntil, until)
	})
}

// answers returns the instant until which the end of a term waits for callers.
func (rn *runner) answers() fence.Instant {
	is := rn.latch.Answers()
	if rn.p.r.breaks("answers-waited") || rn.p.r.breaks("promise-not-forgotten") && is <= rn.forgotten {
		return 0
	}
	return is
}

// waitsForAnswers reports whether the end of a term waits for nothing but callers.
func (rn *runner) waitsForAnswers(t *tenure) bool {
	return t != nil && t.draining && t.counted == 0 && rn.answers() > rn.p.now()
}
