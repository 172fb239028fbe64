package core

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/ledger"
)

// P33: a review has its place among the submissions: what is submitted after it is not among what it names, and would be
// withdrawn. An operator is told why entries wait, as long as they do.
func TestAReviewKeepsItsPlace(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "a", declared("a"))
	tx := ledger.Sent{By: "a", Entries: []ledger.Entry{{Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: "a"}}}}}
	told := func(want string) {
		t.Helper()
		if got := d.core.Look("k", time.Time{}).Waits; !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Fatalf("it waits for %q, want %q", got, want)
		}
	}
	taken := func(entries int) {
		t.Helper()
		one := must[HandIn](d)
		if len(one.Sent.Entries) != entries {
			t.Fatalf("%d entries are handed in, want %d", len(one.Sent.Entries), entries)
		}
		d.step(Answered{ID: one.ID})
	}
	reviewed := func(answer Answered) {
		t.Helper()
		answer.ID = must[Review](d).ID
		d.step(answer)
	}
	d.submitSent(tx)
	d.submitSent(tx)
	d.errands.addErrand(errand{review: &coordinator.Review{Awaited: tx.Entries}})
	d.submitSent(tx)
	d.submitSent(tx)
	d.step(Refused{"k", "busy"})
	told("not taken: busy")
	taken(1)
	told("")
	d.step(Answered{ID: must[Wait](d).ID})
	taken(1)
	reviewed(Answered{Lost: tx.Entries, Waits: "no money"})
	told("no money")
	taken(2)
	d.errands.addErrand(errand{review: &coordinator.Review{}})
	d.step(Answered{ID: must[Wait](d).ID})
	reviewed(Answered{Err: errors.New("the database is away")})
	told("nobody knows: the database is away")
}

// An outage of the submitter is told once for a contract when it begins and once when it is over, and so is that entries are
// given up, however many reviews and transactions meet it.
func TestReviewsThatFailAreOneLine(t *testing.T) {
	t.Parallel()
	d, away := newDesk(t, "a", declared("a")), errors.New("the database is away")
	const fails, again, given = "it is not known what has become", "it is known again", "was given up"
	for i, one := range []struct {
		lost int
		err  error
		want map[string]int // lines so far
	}{
		{0, nil, map[string]int{}},
		{0, away, map[string]int{fails: 1}},
		{0, away, map[string]int{fails: 1}},
		{0, nil, map[string]int{fails: 1, again: 1}},
		{2, nil, map[string]int{fails: 1, again: 1, given: 1}},
		{0, away, map[string]int{fails: 2, again: 1, given: 1}},
		{3, nil, map[string]int{fails: 2, again: 2, given: 1}},
		{4, nil, map[string]int{fails: 2, again: 2, given: 1}},
		{0, nil, map[string]int{fails: 2, again: 2, given: 1}},
		{1, nil, map[string]int{fails: 2, again: 2, given: 2}},
	} {
		d.errands.reviewAnswered(Answered{Lost: make([]ledger.Entry, one.lost), Waits: "no money", Err: one.err})
		for _, text := range []string{fails, again, given} {
			if got := d.lines(text); got != one.want[text] {
				t.Fatalf("after review %d the log has %d lines with %q, want %d", i, got, text, one.want[text])
			}
		}
	}
}

// A trouble that nobody has met for long is told again when it is met.
func TestASpellRests(t *testing.T) {
	t.Parallel()
	var s spell
	if _, times := s.ends(0); times != 0 {
		t.Fatal("it ends before it begins")
	}
	if !s.meets(time.Second) || s.meets(time.Minute) || s.meets(time.Minute+spellRests) {
		t.Error("it does not begin once")
	}
	if !s.meets(2*time.Minute + 2*spellRests) {
		t.Error("after a long time it does not begin anew")
	}
	if lasted, times := s.ends(3*time.Minute + 2*spellRests); lasted != time.Minute || times != 1 {
		t.Errorf("it was met %d times in %v, want once in a minute", times, lasted)
	}
}
