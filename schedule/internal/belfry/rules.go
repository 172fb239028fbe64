package belfry

import (
	"slices"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/internal/tables"
	"github.com/conchhq/conch/schedule/internal/worker"
)

// The invariants.
const (
	Once    = "once"     // no time gets two rows, by the instant or by the wall clock, as long as anybody can remember
	Due     = "due"      // no row is written before its time
	InForce = "in-force" // a row is of the revision that is in force at its time
	Leader  = "leader"   // a deposed leader writes nothing
	OnTime  = "on-time"  // no time is passed over as missed that is not late yet
	Settled = "settled"  // each time has a row or is in a gap, and none is passed over while nothing is wrong
	Adopted = "adopted"  // while nothing is wrong the newest revision is in force, and of files the one with the highest version
	Kept    = "kept"     // no row is deleted above the cursor, or before it is old by the truth or by its leader's clock

	Alone     = "alone"     // no two commands of one job, or of one lane, run at once
	Told      = "told"      // no attempt is told to have ended while the command of one runs
	Effect    = "effect"    // a job whose handler proves its attempt has its effect once if it is done, and else never
	Doors     = "doors"     // no command begins before the act door of its worker's post is open
	Counted   = "counted"   // no job begins more often than it may be tried
	Cancelled = "cancelled" // no attempt of a job begins after that in which it was cancelled
	Ended     = "ended"     // while nothing is wrong every job ends
)

// The rules that the world breaks: what the statements of the database promise. Package patched breaks the others.
const (
	ruleKey     = "key"
	ruleDue     = "due-in-statement"
	ruleCompare = "compare-and-set"
	ruleFence   = "fence"

	ruleAttempt = "attempt"
	ruleCount   = "count-at-take"
	ruleCancel  = "cancel-in-row"
	ruleKeeper  = "keeper"
	ruleProof   = "proof"
)

var rules = []world.Rule[Config]{
	{Name: ruleKey, Invariant: Once, Why: "a cron and a time are a key; without it the times that a wrong clock has brought early come twice"},
	{Name: ruleDue, Invariant: Due, Why: "a time is compared with the clock in the statement that writes; else a clock that steps back in between has rows written early"},
	{Name: ruleCompare, Invariant: InForce, Why: "a cron moves only from where the leader has read it; else a leader that stood still runs a cron that was paused meanwhile"},
	{Name: ruleFence, Invariant: Leader, Why: "the fence is in each write; else a leader that was frozen writes after another one was made"},
	{Name: ruleAttempt, Invariant: Told, Why: "an end is of an attempt, and not of a job; else a worker that was frozen ends the attempt that has followed its own"},
	{Name: ruleCount, Invariant: Counted, Why: "an attempt counts when it is taken, whatever becomes of its worker; else a job that kills its workers is tried for ever"},
	{Name: ruleCancel, Invariant: Cancelled, In: Config{Seed: 34}, Why: "that a job was cancelled is a fact in its row; else it is tried again if its worker dies before it has heard of it"},
	{Name: ruleKeeper, Invariant: Told, Why: "a command dies when the deadline of its worker's post has passed; else that of a frozen worker goes on beside the next attempt"},
	{Name: ruleProof, Invariant: Effect, In: Config{Nodes: 2, Hours: 4, Seed: 380}, Why: "a fenced handler ends its attempt where its effect is, which fails if that is over; else the next attempt, which begins as soon as the session of its worker is gone, has the effect too"},
	{Name: "fenced-first", Invariant: Doors, Why: "before the act door of its post is open a worker takes jobs alone whose handlers prove their attempts; else the gate refuses what the others are about to do"},
	{Name: "act-door", Invariant: Told, Why: "a job is given back when the act door of its post opens, unless its handler proves its attempt; else a worker that was cut off still does it"},
	{Name: "unknown-take", Invariant: Ended, In: Config{Seed: 13}, Why: "what was taken without an answer is given back; else nobody does it, and nobody else gets it"},
	{Name: "look-alone", Invariant: Told, In: Config{Seed: 45}, Why: "nobody looks while jobs are being taken; else what was just taken is given back, and done twice"},
	{Name: "lane", Invariant: Alone, Why: "a job of a lane waits until the one before has ended; else two times of a cron overlap"},
	{Name: "late", Invariant: OnTime, Why: "a time is missed when it is a minute old; else each time is some milliseconds late, and a cron without catching up never runs"},
	{Name: "settle-first", Invariant: Settled, Why: "what the old revision owes is settled before the next one is adopted; else it is lost"},
	{Name: "since", Invariant: InForce, Why: "a revision counts from its own instant on; else a cron that is resumed runs all that was due while it was paused"},
	{Name: "each-revision", Invariant: Settled, In: Config{Seed: 28}, Why: "each revision is adopted in turn; else what one owes that was replaced while nobody led is in no table"},
	{Name: "newer-file", Invariant: Adopted, Why: "a file replaces one with a lower version, and no other; else an old node that starts takes the new crons away"},
	{Name: "cursor-ahead", Invariant: Settled, In: Config{Seed: 14}, Why: "a cursor ahead of the clock goes back to now; else a cron is silent for as long as the clock was ahead"},
	{Name: "since-ahead", Invariant: Adopted, In: Config{Seed: 704}, Why: "an instant ahead of the clock means now; else a pause that was written while the clock was ahead is obeyed an hour later"},
	{Name: "above-floor", Invariant: Once, Why: "the cursor never goes below where rows were deleted; else their times come again"},
	{Name: "prune-below-cursor", Invariant: Kept, Why: "only rows below the cursor are deleted; else those go whose times a wrong clock has brought early, and they come again"},
	{Name: "two-clocks", Invariant: Kept, Why: "rows are deleted that are old by the leader's clock too; else a clock that is wrong for a minute raises the floor, and a cron is silent up to there"},
	{Name: "wall-grows", Invariant: Once, In: Config{Seed: 6}, Why: "the wall clock of a cron grows too; else two nodes with different rules of a zone run one time twice"},
}

// bend does the same with the ends of attempts.
func (r *run) bend(ends []worker.End) []worker.End {
	ends = slices.Clone(ends)
	for i := range ends {
		e := &ends[i]
		switch j := r.tables.Job(e.ID); {
		case r.cfg.Break == ruleAttempt && j.State == tables.Taken:
			e.Attempt = j.Attempt
		case r.cfg.Break == ruleCount && e.Outcome == worker.Lost:
			e.Outcome = worker.Released
		case r.cfg.Break == ruleCancel && e.Outcome == worker.Lost:
			r.tables.Forgive(e.ID)
		}
	}
	return ends
}

// tamper breaks a rule of the database: it changes what is written, and the clock by which.
func (r *run) tamper(w core.Write, now time.Time) (core.Write, time.Time) {
	for i := range w.Moves {
		m := &w.Moves[i]
		if r.cfg.Break == ruleCompare {
			m.Was = r.tables.Cron(m.Cron).Position
		}
		for _, one := range m.Runs {
			switch {
			case r.cfg.Break == ruleKey:
				r.tables.Forget(m.Cron, one.At)
			case r.cfg.Break == ruleDue && one.At.After(now):
				now = one.At
			}
		}
	}
	return w, now
}
