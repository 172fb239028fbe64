package goals

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// Verdict is what a record proves. Times are in milliseconds. Its JSON form is public.
type Verdict struct {
	Goals      int             `json:"goals"`          // that were acknowledged
	Took       evidence.Spread `json:"took_ms"`        // from the first request for a goal until it was acknowledged
	Entries    int             `json:"entries"`        // that were read, each after the one before it
	Kills      int             `json:"leaders_killed"` // of the log
	Again      evidence.Spread `json:"again_ms"`       // from such a kill until a goal asked for after it was acknowledged
	Wiped      int             `json:"disks_lost"`
	Admitted   evidence.Spread `json:"admitted_ms"` // from the start of such a member until it decided again, with another store
	Joined     evidence.Spread `json:"joined_ms"`   // from the start of a node that had nothing until it had the log
	Lost       int             `json:"lost"`        // acknowledged, and not in the log as that was told
	Doubled    int             `json:"doubled"`     // goals that are in the log more than once
	Unanswered int             `json:"unanswered"`
	Copies     int             `json:"copies"` // that were compared in the end, up to an entry
	Index      uint64          `json:"index"`
	Equal      bool            `json:"equal"`
	Violations []string        `json:"-"` // all in words, the counted ones included
}

// Judge gives the verdict on a record. It is pure.
func Judge(r Record) Verdict {
	j := &judge{Record: r, at: map[string][]Entry{}, v: Verdict{
		Entries: len(r.Entries), Kills: len(r.Kills), Wiped: len(r.Wiped), Copies: r.Compared.Copies, Index: r.Compared.Index,
	}}
	j.chain()
	j.goals()
	j.v.Again = evidence.SpreadOf(j.again())
	j.v.Admitted = evidence.SpreadOf(j.caughtUp(r.Wiped, "its store was deleted, and it never decided again"))
	j.v.Joined = evidence.SpreadOf(j.caughtUp(r.Joined, "it began with nothing, and never had the log"))
	j.counter()
	j.compared()
	return j.v
}

type judge struct {
	Record

	v    Verdict
	at   map[string][]Entry // by the id of the goal
	last uint64             // the highest index that was acknowledged
}

// chain sees that each entry follows the one before it, though another node has told that.
func (j *judge) chain() {
	for i, e := range j.Entries {
		if e.GoalID != "" {
			j.at[e.GoalID] = append(j.at[e.GoalID], e)
		}
		if i == 0 {
			continue
		}
		if before := j.Entries[i-1]; e.Index != before.Index+1 || e.Prev != before.Hash {
			j.violates("entry %d of %s does not follow entry %d of %s", e.Index, e.From, before.Index, before.From)
		}
	}
}

// goals compares what was acknowledged with what is in the log.
func (j *judge) goals() {
	var took []time.Duration
	for _, g := range j.Goals {
		in := j.at[g.ID]
		if len(in) > 1 {
			j.v.Doubled++
			j.violates("goal %s was executed by entry %d, and again by entry %d", g.ID, in[0].Index, in[1].Index)
		}
		if g.Refused != "" {
			j.violates("goal %s was refused: %s", g.ID, g.Refused)
		}
		if len(g.Answers) == 0 {
			j.v.Unanswered++
			j.violates("goal %s, asked for at %s, was never answered", g.ID, short(g.At))
			continue
		}
		j.v.Goals++
		took = append(took, g.Answers[0].At-g.At)
		for _, a := range g.Answers {
			j.last = max(j.last, a.Index)
			if a.Fault != "" {
				j.violates("goal %s has failed: %s", g.ID, a.Fault)
			}
		}
		if wrong, is := untrue(g.Answers, in); is {
			j.v.Lost++
			j.violates("%s acknowledged goal %s at %s as entry %d, %.12s, and the log has it %s", wrong.From, g.ID, short(wrong.At), wrong.Index, wrong.Hash, places(in))
		}
	}
	j.v.Took = evidence.SpreadOf(took)
}

// untrue finds an answer that names no entry of the goal.
func untrue(answers []Answer, in []Entry) (Answer, bool) {
	for _, a := range answers {
		told := false
		for _, e := range in {
			told = told || e.Index == a.Index && (e.Hash == a.Hash || a.Hash == "")
		}
		if !told {
			return a, true
		}
	}
	return Answer{}, false
}

func places(in []Entry) string {
	if len(in) == 0 {
		return "nowhere"
	}
	return fmt.Sprintf("at %d, %.12s", in[0].Index, in[0].Hash)
}

// again returns how long goals stood still after each kill of a leader.
func (j *judge) again() (took []time.Duration) {
	for _, at := range j.Kills {
		if d, is := j.Again(at); is {
			took = append(took, d)
		}
	}
	return took
}

// Again returns how long after an instant a goal was acknowledged that was asked for later. Such a goal needs those that decide then.
func (r *Record) Again(at time.Duration) (took time.Duration, is bool) {
	for i := len(r.Goals) - 1; i >= 0 && r.Goals[i].At >= at; i-- {
		for _, a := range r.Goals[i].Answers {
			if !is || a.At-at < took {
				took, is = a.At-at, true
			}
		}
	}
	return took, is
}

func (j *judge) caughtUp(all []Start, otherwise string) (took []time.Duration) {
	for _, s := range all {
		if s.Took == 0 {
			j.violates("%s: %s", s.Node, otherwise)
			continue
		}
		took = append(took, s.Took)
	}
	return took
}

// counter compares the state of the log with its entries: an effect that came twice, or not at all, is seen there.
func (j *judge) counter() {
	executed := uint64(0)
	for _, g := range j.Goals {
		for _, e := range j.at[g.ID] {
			if e.Fault == "" {
				executed++
			}
		}
	}
	for _, c := range j.Counts {
		if c.Value != executed {
			j.violates("each goal adds one: %d were executed, and a fresh read at %s says %d", executed, c.Node, c.Value)
		}
	}
	if len(j.Counts) < j.Compared.Copies {
		j.violates("%d nodes answered a fresh read in the end, and %d have the log", len(j.Counts), j.Compared.Copies)
	}
}

func (j *judge) compared() {
	switch c := j.Compared; {
	case c.Fault != "":
		j.violates("the copies are not equal: %s", c.Fault)
	case c.Copies < 2:
		j.violates("no copies were compared")
	case c.Index < j.last:
		j.violates("the copies were compared up to entry %d, and entry %d was acknowledged", c.Index, j.last)
	default:
		j.v.Equal = true
		for _, e := range j.Entries {
			if e.Index == c.Index && e.Hash != c.Hash {
				j.v.Equal = false
				j.violates("the copies have %.12s at entry %d, and %s had %.12s", c.Hash, c.Index, e.From, e.Hash)
			}
		}
	}
}

func (j *judge) violates(text string, args ...any) {
	j.v.Violations = append(j.v.Violations, "the log: "+fmt.Sprintf(text, args...))
}

func short(d time.Duration) string { return d.Round(time.Millisecond).String() }
