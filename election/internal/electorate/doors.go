package electorate

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/world"
)

// doorJudge checks the doors of one scope: no two terms may act at once.
type doorJudge struct {
	r     *run
	scope string
	terms []*tenure // those that may still act, in the order in which they opened
}

// tenure is what the world knows of one opened gate: it evaluates the gate's rule on the node's
// clock over intervals of true time.
type tenure struct {
	p             *process
	token         fence.Token
	actFrom       fence.Instant
	deadline      fence.Instant
	shut          bool
	flag          bool          // stands for the gate if compare-at-use is broken
	ending        bool          // shut, but a command that was begun before has not ended
	killAt        fence.Instant // when the keeper kills that command
	answeredUntil time.Duration // true time at which the last answer for a caller expires
	heardUntil    time.Duration // true time at which the last answer that a caller received expires
	draining      bool          // the role has returned, and the loop waits for the end of the acts
	over          bool          // the role has returned and no act is counted
	acts          int           // acts that run in true time
	counted       int           // acts that the process counts as running
	endedAt       time.Duration // true time at which the loop was told
	key           int64         // the session that minted it
	standing      standing
}

// prolong tells the keeper a later deadline.
func (t *tenure) prolong(d fence.Instant) { t.killAt = max(t.killAt, d) }

// past reports whether nothing acts under the term any more. A dead process's command is past
// once its keeper has killed it; that of a live one may get more time.
func (t *tenure) past() bool {
	goesOn := t.ending && (!t.p.dead || t.p.now() < t.killAt)
	return t.acts == 0 && t.shut && !goesOn && t.p.r.w.Now() >= t.answeredUntil
}

// span returns the part of [from, to) of true time in which the tenure can act, itself or by a
// caller with its answer.
func (t *tenure) span(from, to time.Duration) (a, b time.Duration) {
	a, b = t.ownSpan(from, to)
	switch {
	case t.heardUntil <= from:
		return a, b
	case a >= b:
		return from, min(to, t.heardUntil)
	}
	return from, min(to, max(b, t.heardUntil))
}

func (t *tenure) ownSpan(from, to time.Duration) (a, b time.Duration) {
	switch {
	case t.acts > 0:
		return from, to
	case t.shut && t.ending:
		return t.within(from, to, t.killAt)
	case t.shut:
		return to, to
	case t.p.r.breaks("compare-at-use"):
		if t.flag {
			return from, to
		}
		return to, to
	}
	return t.within(from, to, t.deadline)
}

// within returns the part of [from, to) between the opening of the act door and end.
func (t *tenure) within(from, to time.Duration, end fence.Instant) (a, b time.Duration) {
	clock := t.p.node.clock
	if clock.At(to) < int64(t.actFrom) || clock.At(from) >= int64(end) {
		return to, to
	}
	return max(from, clock.When(int64(t.actFrom))), min(to, clock.When(int64(end)))
}

// opened adds a term, and records the narrowest gap between the end of a predecessor's act door
// and the opening of its own.
func (j *doorJudge) opened(t *tenure) {
	for _, o := range j.terms {
		if !o.shut && o.token.Epoch < t.token.Epoch && o.actFrom < o.deadline {
			gap := t.p.node.clock.When(int64(t.actFrom)) - o.p.node.clock.When(int64(o.deadline))
			j.r.least(world.NarrowestGap, gap.Microseconds())
		}
	}
	j.terms = append(j.terms, t)
}

// judge checks all of [from, to), during which nothing happens.
func (j *doorJudge) judge(from, to time.Duration) {
	j.terms = slices.DeleteFunc(j.terms, (*tenure).past)
	for i, t := range j.terms {
		j.agree(t)
		a, b := t.span(from, to)
		if a >= b {
			continue
		}
		for _, o := range j.terms[:i] {
			if c, d := o.span(from, to); max(a, c) < min(b, d) {
				j.overlap(o, t, max(a, c))
			}
		}
	}
}

func (j *doorJudge) overlap(a, b *tenure, at time.Duration) {
	if j.r.forgotten(a, b) || j.r.forgotten(b, a) {
		j.r.count("overlaps_forgotten")
		return
	}
	j.r.count("overlaps")
	if j.r.mayNotMeet(a, b) {
		j.r.Violated(ActDoors, fmt.Sprintf("%s: %s (epoch %d) and %s (epoch %d) may both act at %s",
			j.scope, a.p.name, a.token.Epoch, b.p.name, b.token.Epoch, at))
	}
}

// agree checks both doors of the real gate against the rule.
func (j *doorJudge) agree(t *tenure) {
	rn := t.p.runners[j.scope]
	if rn.term != t || j.r.breaks("compare-at-use") {
		return
	}
	now := t.p.now()
	fenced := !t.shut && now < t.deadline
	act := fenced && now >= t.actFrom
	if fenced != rn.gate.IsOpen(fence.Fenced) || act != rn.gate.IsOpen(fence.Act) {
		j.r.Violated(GateRule, fmt.Sprintf("%s: the gate of %s answers wrongly; want its fenced door open: %v, its act door open: %v", j.scope, t.p.name, fenced, act))
	}
}

func (j *doorJudge) openNow() int {
	n, now := 0, j.r.w.Now()
	for _, t := range j.terms {
		if a, b := t.ownSpan(now, now+1); a < b && !t.shut {
			n++
		}
	}
	return n
}

// released checks a release that the mint is about to write.
func (j *doorJudge) released(token fence.Token) {
	now := j.r.w.Now()
	for _, t := range j.terms {
		if !t.token.Same(token) {
			continue
		}
		if a, b := t.span(now, now+1); a < b {
			j.r.Violated(ReleasedHonest, fmt.Sprintf("%s: epoch %d was released while %s may act", j.scope, token.Epoch, t.p.name))
		}
	}
}
