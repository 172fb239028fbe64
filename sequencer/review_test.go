package sequencer

import (
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
	if c.lost != 1 {
		t.Errorf("%d entries are lost, want one", c.lost)
	}
	c.n.group.Go(func() {
		if in, _ := c.look(coordinator.Review{Awaited: tx.Entries}); !in.Failed || len(in.Lost) > 0 {
			t.Errorf("without an answer it is %+v, want that nobody knows", in)
		}
	})
	next("review 1", errors.New("the database is away"))
	c.errand(errand{review: &coordinator.Review{}})
	next("review 0", errors.New("the database is away"))
	told("", "nobody knows: the database is away")
}
