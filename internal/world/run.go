package world

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/internal/world/story"
)

// mostViolations is the number of violations at which a run ends.
const mostViolations = 5

// Run is a run while it goes on: what did not hold until now, and its figures. The run of a kind of world embeds it, which is so most of
// what a story needs of its world.
type Run struct {
	Found []Violation
	Stats map[string]int64
	Took  []time.Duration        // as in a Report
	Names []string               // of the nodes: node-1, node-2, and so on
	Sites []string               // what is no node, and may be cut off from one
	Say   func(who, what string) // tells of a violation in the story; nil: it is only noted
	Line  func() string          // the command that repeats it
	w     *World
	begun Report // what its report says from its begin on
	story io.Writer
}

// World is where the run takes place.
func (r *Run) World() *World { return r.w }

// Over reports whether so much did not hold that the run ends.
func (r *Run) Over() bool { return len(r.Found) >= mostViolations }

// Check reports a violation unless something holds, and returns whether it does.
func (r *Run) Check(holds bool, invariant, text string, args ...any) bool {
	if !holds && !r.Over() {
		r.Violated(invariant, fmt.Sprintf(text, args...))
	}
	return holds
}

// Violated reports a violation.
func (r *Run) Violated(invariant, detail string) {
	if r.Over() {
		return
	}
	if what := invariant + ": " + detail; r.Say != nil {
		r.Say("violated", what)
	} else {
		r.w.Note("violated", what, 0)
	}
	r.Found = append(r.Found, Violation{Invariant: invariant, Step: r.w.Steps(), Detail: detail, Replay: r.Line()})
}

// Now implements story.World.
func (r *Run) Now() time.Duration { return r.w.Now() }

// After implements story.World.
func (r *Run) After(wait time.Duration, do func()) { r.w.After(wait, do) }

// Step implements story.World.
func (r *Run) Step() bool { return r.w.Step() && len(r.Found) == 0 }

// Nodes implements story.World.
func (r *Run) Nodes() []string { return slices.Clone(r.Names) }

// Places implements story.World.
func (r *Run) Places() []string { return r.Sites }

// Tell notes what somebody does, and writes a line of the story.
func (r *Run) Tell(at time.Duration, who, what string) {
	r.w.Note(who, what, 0)
	story.Line(r.story, at, who, strings.TrimSpace(what))
}

// Remark writes a line of the story alone.
func (r *Run) Remark(at time.Duration, who, what string) { story.Line(r.story, at, who, what) }

// Told reports whether somebody reads the story.
func (r *Run) Told() bool { return r.story != nil }

// Until runs the world up to an instant, or to its end: until too much did not hold, nothing more happens, or, unless it is
// nil, settled says so.
func (r *Run) Until(end time.Duration, settled func() bool) {
	for !r.Over() {
		if next, is := r.w.Next(); !is || next > end || settled != nil && settled() {
			return
		}
		r.w.Step()
	}
}

// Report says what came of the run.
func (r *Run) Report() Report {
	all := r.begun
	all.Steps, all.Stats, all.Took = r.w.Steps(), r.Stats, r.Took
	all.Violations, all.Trace = append([]Violation{}, r.Found...), fmt.Sprintf("%016x", r.w.Hash())
	all.Timed()
	return all
}
