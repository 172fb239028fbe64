package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
)

// hall is where the doors of one scope are watched.
type hall struct {
	r     *run
	scope string
	terms []*tenure // those that may still act, in the order of their opening
}

// tenure is what the world knows of one opened gate: the gate's own rule,
// evaluated on the node's clock over intervals of true time.
type tenure struct {
	p        *process
	token    fence.Token
	actFrom  fence.Instant
	deadline fence.Instant
	shut     bool
	flag     bool          // stands for the gate where compare-at-use is broken
	ending   bool          // shut, and a command that was begun behind it has not ended
	killAt   fence.Instant // when its keeper sees to it, whatever its process does
	given    time.Duration // callers may be told that they may act, until this instant of true time
	told     time.Duration // and until this one they were
	over     bool          // the role has returned and no act is counted
	acts     int           // running, whatever their process does
	counted  int           // running as far as the process knows
	endedAt  time.Duration // when the loop was told, in true time
	key      int64         // the session that minted it
	standing standing
}

// prolong is what a keeper is told.
func (t *tenure) prolong(d fence.Instant) { t.killAt = max(t.killAt, d) }

// past: nothing comes of it any more. The command of a dead process is past once its
// keeper has seen to it; that of a live one may get more time.
func (t *tenure) past() bool {
	goesOn := t.ending && (!t.p.dead || t.p.now() < t.killAt)
	return t.acts == 0 && t.shut && !goesOn && t.p.r.w.Now() >= t.given
}

// span is the part of [from, to) of true time in which the tenure can act, itself or by
// a caller that it has told so.
func (t *tenure) span(from, to time.Duration) (a, b time.Duration) {
	a, b = t.ownSpan(from, to)
	switch {
	case t.told <= from:
		return a, b
	case a >= b:
		return from, min(to, t.told)
	}
	return from, min(to, max(b, t.told))
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

// within is the part of [from, to) between the opening of the act door and an end.
func (t *tenure) within(from, to time.Duration, end fence.Instant) (a, b time.Duration) {
	clock := t.p.node.clock
	if clock.At(to) < int64(t.actFrom) || clock.At(from) >= int64(end) {
		return to, to
	}
	return max(from, clock.When(int64(t.actFrom))), min(to, clock.When(int64(end)))
}

// opened adds a term, and keeps how near it came to an overlap: the time between
// the end of a predecessor's door and the opening of this one.
func (h *hall) opened(t *tenure) {
	for _, o := range h.terms {
		if !o.shut && o.token.Epoch < t.token.Epoch && o.actFrom < o.deadline {
			gap := t.p.node.clock.When(int64(t.actFrom)) - o.p.node.clock.When(int64(o.deadline))
			h.r.least(narrowestGap, gap.Microseconds())
		}
	}
	h.terms = append(h.terms, t)
}

// judge looks at all of [from, to), during which nothing happens.
func (h *hall) judge(from, to time.Duration) {
	h.terms = slices.DeleteFunc(h.terms, (*tenure).past)
	for i, t := range h.terms {
		h.agree(t)
		a, b := t.span(from, to)
		if a >= b {
			continue
		}
		for _, o := range h.terms[:i] {
			if c, d := o.span(from, to); max(a, c) < min(b, d) {
				h.overlap(o, t, max(a, c))
			}
		}
	}
}

func (h *hall) overlap(a, b *tenure, at time.Duration) {
	if h.r.forgotten(a, b) || h.r.forgotten(b, a) {
		h.r.count("overlaps_forgotten")
		return
	}
	h.r.count("overlaps")
	if h.r.mayNotMeet(a, b) {
		h.r.violated(ActDoors, fmt.Sprintf("%s: %s (epoch %d) and %s (epoch %d) may act at %s",
			h.scope, a.p.name, a.token.Epoch, b.p.name, b.token.Epoch, at))
	}
}

// agree asks the real gate what the world thinks of both of its doors.
func (h *hall) agree(t *tenure) {
	c := t.p.chairs[h.scope]
	if c.term != t || h.r.breaks("compare-at-use") {
		return
	}
	now := t.p.now()
	fenced := !t.shut && now < t.deadline
	act := fenced && now >= t.actFrom
	if fenced != c.gate.IsOpen(fence.Fenced) || act != c.gate.IsOpen(fence.Act) {
		h.r.violated(GateRule, fmt.Sprintf("%s: the gate of %s should have its fenced door open: %v, its act door: %v", h.scope, t.p.name, fenced, act))
	}
}

func (h *hall) openNow() int {
	n, now := 0, h.r.w.Now()
	for _, t := range h.terms {
		if a, b := t.ownSpan(now, now+1); a < b && !t.shut {
			n++
		}
	}
	return n
}

// released is told of every promise that the mint has taken down.
func (h *hall) released(token fence.Token) {
	now := h.r.w.Now()
	for _, t := range h.terms {
		if !t.token.Same(token) {
			continue
		}
		if a, b := t.span(now, now+1); a < b {
			h.r.violated(ReleasedHonest, fmt.Sprintf("%s: epoch %d was released while %s may act", h.scope, token.Epoch, t.p.name))
		}
	}
}
