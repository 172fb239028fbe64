package goals

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	msec = time.Millisecond
	sec  = time.Second
)

// story is a run that ends well: of four goals one has two answers, a leader is killed, a member loses its disk, and a node joins.
func story() Record {
	r := Record{
		Kills:    []time.Duration{1500 * msec},
		Wiped:    []Start{{"b", 900 * msec}},
		Joined:   []Start{{"d", 700 * msec}},
		Compared: Compared{Copies: 4, Index: 6, Hash: "h6"},
	}
	for i, id := range []string{"", "one", "", "two", "three", "somebody's"} {
		r.Entries = append(r.Entries, Entry{From: "a", Index: uint64(i + 1), Hash: fmt.Sprint("h", i+1), Prev: fmt.Sprint("h", i), GoalID: id})
	}
	r.Goals = []Goal{
		{ID: "one", At: sec, Answers: []Answer{{"a", sec + 10*msec, 2, "h2", ""}, {"b", sec + 20*msec, 2, "h2", ""}}},
		{ID: "two", At: 1400 * msec, Answers: []Answer{{"c", 1800 * msec, 4, "h4", ""}}},
		{ID: "three", At: 1600 * msec, Answers: []Answer{{"b", 1900 * msec, 5, "h5", ""}}},
	}
	r.Counts = []Count{{"a", 3}, {"b", 3}, {"c", 3}, {"d", 3}}
	return r
}

func TestARunThatEndsWell(t *testing.T) {
	t.Parallel()
	v := Judge(story())
	if len(v.Violations) > 0 {
		t.Fatalf("the verdict is %+v, want no violation", v)
	}
	got := []any{v.Goals, v.Took.Max, v.Entries, v.Kills, v.Again.Max, v.Wiped, v.Admitted.Max, v.Joined.Max, v.Lost, v.Doubled, v.Unanswered, v.Copies, v.Index, v.Equal}
	want := []any{3, 400.0, 6, 1, 400.0, 1, 900.0, 700.0, 0, 0, 0, 4, uint64(6), true}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Each fault that a run can show is a violation that says which goal and which node. B13, B14, B20, V7.
func TestWhatAJudgeFinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                      string
		does                      func(*Record)
		says                      string
		lost, doubled, unanswered int
		unequal                   bool
	}{
		{"an acknowledged goal is gone", func(r *Record) { r.Entries[3].GoalID = ""; r.counts(2) },
			"c acknowledged goal two at 1.8s as entry 4, h4, and the log has it nowhere", 1, 0, 0, false},
		{"it is elsewhere", func(r *Record) { r.Goals[1].Answers[0].Index = 3 },
			"c acknowledged goal two at 1.8s as entry 3, h4, and the log has it at 4, h4", 1, 0, 0, false},
		{"it is another entry", func(r *Record) { r.Goals[1].Answers[0].Hash = "h9" },
			"c acknowledged goal two at 1.8s as entry 4, h9, and the log has it at 4, h4", 1, 0, 0, false},
		{"the second answer is of another entry", func(r *Record) { r.Goals[0].Answers[1].Index = 4 },
			"b acknowledged goal one at 1.02s as entry 4, h2, and the log has it at 2, h2", 1, 0, 0, false},
		{"an answer without a hash, of a result that is long ago", func(r *Record) { r.Goals[1].Answers[0].Hash = "" }, "", 0, 0, 0, false},
		{"a goal is executed twice", func(r *Record) { r.Entries[5].GoalID = "one"; r.counts(4) },
			"goal one was executed by entry 2, and again by entry 6", 0, 1, 0, false},
		{"its effect came twice", func(r *Record) { r.Counts[2].Value++ }, "each goal adds one: 3 were executed, and a fresh read at c says 4", 0, 0, 0, false},
		{"a goal has no answer", func(r *Record) { r.Goals[1].Answers = nil }, "goal two, asked for at 1.4s, was never answered", 0, 0, 1, false},
		{"a goal is refused", func(r *Record) { r.Goals[1].Refused = "b: 410" }, "goal two was refused: b: 410", 0, 0, 0, false},
		{"a goal fails", func(r *Record) { r.Goals[1].Answers[0].Fault = "no number" }, "goal two has failed: no number", 0, 0, 0, false},
		{"an entry follows another one than the node before had", func(r *Record) { r.Entries[4].Prev, r.Entries[4].From = "h9", "b" },
			"entry 5 of b does not follow entry 4 of a", 0, 0, 0, false},
		{"an entry is missing", func(r *Record) { r.Entries = slices.Delete(r.Entries, 2, 3) }, "entry 4 of a does not follow entry 2 of a", 0, 0, 0, false},
		{"an entry has another number", func(r *Record) { r.Entries[5].Index = 9 }, "entry 9 of a does not follow entry 5 of a", 0, 0, 0, false},
		{"a member never comes back", func(r *Record) { r.Wiped[0].Took = 0 }, "b: its store was deleted, and it never decided again", 0, 0, 0, false},
		{"a node never has the log", func(r *Record) { r.Joined[0].Took = 0 }, "d: it began with nothing, and never had the log", 0, 0, 0, false},
		{"a node does not answer in the end", func(r *Record) { r.Counts = r.Counts[1:] }, "3 nodes answered a fresh read in the end, and 4 have the log", 0, 0, 0, false},
		{"copies differ", func(r *Record) { r.Compared.Fault = "they differ at entry 5" }, "the copies are not equal: they differ at entry 5", 0, 0, 0, true},
		{"copies are compared too early", func(r *Record) { r.Compared.Index = 4; r.Compared.Hash = "h4" },
			"the copies were compared up to entry 4, and entry 5 was acknowledged", 0, 0, 0, true},
		{"copies are equal, and not what was read", func(r *Record) { r.Compared.Hash = "h9" }, "the copies have h9 at entry 6, and a had h6", 0, 0, 0, true},
		{"nothing was compared", func(r *Record) { r.Compared = Compared{} }, "no copies were compared", 0, 0, 0, true},
		{"nothing was asked for", func(r *Record) { *r = Record{Compared: r.Compared, Counts: r.Counts}; r.counts(0) }, "", 0, 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := story()
			c.does(&r)
			v := Judge(r)
			want := []string{"the log: " + c.says}
			if c.says == "" {
				want = nil
			}
			if !slices.Equal(v.Violations, want) {
				t.Errorf("got %q, want %q", strings.Join(v.Violations, "\n"), want)
			}
			if v.Lost != c.lost || v.Doubled != c.doubled || v.Unanswered != c.unanswered || v.Equal == c.unequal {
				t.Errorf("counted %+v, want %d lost, %d doubled, %d unanswered; equal: %t", v, c.lost, c.doubled, c.unanswered, !c.unequal)
			}
		})
	}
}

// counts has each node say that so many were executed.
func (r *Record) counts(n uint64) {
	for i := range r.Counts {
		r.Counts[i].Value = n
	}
}

// Only a goal that was asked for after the kill shows that the log goes on.
func TestWhenTheLogGoesOn(t *testing.T) {
	t.Parallel()
	r := story()
	if took, is := r.Again(1500 * msec); !is || took != 400*msec {
		t.Errorf("got %v %t, want 400 ms: goal two was asked for before", took, is)
	}
	if _, is := r.Again(1700 * msec); is {
		t.Error("nothing was asked for since, and the log is said to go on")
	}
}
