package sequencer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/ledger"
)

// clerk is a ledger that notes what it is asked, and fails when the test says so.
type clerk struct {
	Ledger
	asked chan string
	fails chan error
}

func (l *clerk) say(ctx context.Context, text string) error {
	select {
	case l.asked <- text:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-l.fails:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *clerk) Submit(ctx context.Context, tx ledger.Sent) error {
	return l.say(ctx, fmt.Sprint("submit ", len(tx.Entries)))
}

func (l *clerk) Review(ctx context.Context, awaited []ledger.Entry) (lost []ledger.Entry, waits string, err error) {
	return awaited, "no money", l.say(ctx, fmt.Sprint("review ", len(awaited)))
}

// P33: a review has its place among the submissions: what is submitted after it is not among what it names, and would be
// withdrawn. An operator is told why entries wait, as long as they do.
func TestAReviewKeepsItsPlace(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	l := &clerk{asked: make(chan string), fails: make(chan error)}
	n := &Node{cfg: Config{Log: slog.New(slog.DiscardHandler)}, ctx: ctx, tasks: make(chan func()), outages: newOutages()}
	defer n.group.Wait()
	defer stop()
	c := &contract{n: n, set: &Contract{Ledger: l}}
	entry := ledger.Entry{Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: "a"}}}
	tx := ledger.Sent{By: "a", Entries: []ledger.Entry{entry}}
	next := func(want string, fails error) {
		t.Helper()
		for {
			select {
			case got := <-l.asked:
				if got != want {
					t.Fatalf("the ledger is asked to %s, want %s", got, want)
				}
				l.fails <- fails
				return
			case do := <-n.tasks:
				do()
			case <-ctx.Done():
				t.Fatalf("it is not asked to %s", want)
			}
		}
	}
	told := func(refused, waits string) {
		t.Helper()
		for !strings.Contains(c.refused, refused) || (c.refused == "") != (refused == "") || !strings.Contains(c.waits, waits) {
			select {
			case do := <-n.tasks:
				do()
			case <-ctx.Done():
				t.Fatalf("it is refused for %q and waits for %q, want %q and %q", c.refused, c.waits, refused, waits)
			}
		}
	}
	c.submit(tx)
	c.submit(tx)
	c.errand(errand{review: &coordinator.Review{Awaited: tx.Entries}})
	c.submit(tx)
	c.submit(tx)
	next("submit 1", errors.New("busy"))
	told("busy", "")
	next("submit 1", nil)
	told("", "")
	next("submit 1", nil)
	next("review 1", nil)
	told("", "no money")
	next("submit 2", nil)
	c.n.group.Go(func() {
		if in, _, _ := c.look(coordinator.Review{Awaited: tx.Entries}); !in.Failed || len(in.Lost) > 0 {
			t.Errorf("without an answer it is %+v, want that nobody knows", in)
		}
	})
	next("review 1", errors.New("the database is away"))
	c.errand(errand{review: &coordinator.Review{}})
	next("review 0", errors.New("the database is away"))
	told("", "nobody knows: the database is away")
}

// verdict is a ledger whose reviews find what the test says.
type verdict struct {
	Ledger
	lost int
	err  error
}

func (v *verdict) Review(context.Context, []ledger.Entry) (lost []ledger.Entry, waits string, err error) {
	return make([]ledger.Entry, v.lost), "no money", v.err
}

// An outage of the submitter is told once for a contract when it begins and once when it is over, and so is that entries are
// given up, however many reviews and transactions meet it. A stop is no outage.
func TestReviewsThatFailAreOneLine(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	log, v := &bytes.Buffer{}, &verdict{}
	n := &Node{cfg: Config{Log: slog.New(slog.NewTextHandler(log, nil))}, ctx: ctx, tasks: make(chan func(), 1), outages: newOutages()}
	c := &contract{n: n, set: &Contract{Declared: ledger.Contract{Address: "k"}, Ledger: v}}
	away := errors.New("the database is away")
	const fails, again, given = "it is not known what has become", "it is known again", "was given up"
	for i, one := range []struct {
		verdict

		want map[string]int // lines so far
	}{
		{verdict{}, map[string]int{}},
		{verdict{err: away}, map[string]int{fails: 1}},
		{verdict{err: away}, map[string]int{fails: 1}},
		{verdict{}, map[string]int{fails: 1, again: 1}},
		{verdict{lost: 2}, map[string]int{fails: 1, again: 1, given: 1}},
		{verdict{err: away}, map[string]int{fails: 2, again: 1, given: 1}},
		{verdict{lost: 3}, map[string]int{fails: 2, again: 2, given: 1}},
		{verdict{lost: 4}, map[string]int{fails: 2, again: 2, given: 1}},
		{verdict{}, map[string]int{fails: 2, again: 2, given: 1}},
		{verdict{lost: 1}, map[string]int{fails: 2, again: 2, given: 2}},
	} {
		*v = one.verdict
		c.review(coordinator.Review{})
		(<-n.tasks)()
		for _, text := range []string{fails, again, given} {
			if got := strings.Count(log.String(), text); got != one.want[text] {
				t.Fatalf("after review %d the log has %d lines with %q, want %d: %s", i, got, text, one.want[text], log)
			}
		}
	}
	stop()
	log.Reset()
	v.err = context.Canceled
	if c.review(coordinator.Review{}); log.Len() > 0 {
		t.Errorf("at the end the log says %s", log)
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
