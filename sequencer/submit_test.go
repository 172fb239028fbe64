package sequencer

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
)

// slow is a ledger that takes each transaction when the test says so.
type slow struct {
	Ledger
	handed chan ledger.Sent
	takes  chan struct{}
}

func (l *slow) Submit(ctx context.Context, tx ledger.Sent) error {
	select {
	case l.handed <- tx:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-l.takes:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// What comes while others are handed over goes together, fifty at most, and in its order: nothing passes a cancellation
// or an entry that it may stand on (P38).
func TestEntriesGoTogether(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	l := &slow{handed: make(chan ledger.Sent), takes: make(chan struct{})}
	n := &Node{cfg: Config{Log: slog.New(slog.DiscardHandler)}, ctx: ctx, tasks: make(chan func())}
	defer n.group.Wait()
	defer stop()
	c := &contract{n: n, set: &Contract{Ledger: l}}
	name := func(i uint64) ledger.Intent {
		return ledger.Intent{Owner: "a", Sequence: ledger.Sequence{Counter: i}}
	}
	var want, got []string
	for i := range uint64(150) {
		tx := ledger.Sent{By: "a", Entries: []ledger.Entry{{Attempt: ledger.Attempt{Intent: name(i)}}}}
		if i == 61 {
			tx = ledger.Sent{By: "a", Cancel: &ledger.Cancellation{Intent: name(i)}}
		}
		want = append(want, fmt.Sprint(tx.Cancel != nil, i))
		c.submit(tx)
	}
	var sizes []int
	for len(got) < len(want) {
		select {
		case tx := <-l.handed:
			sizes = append(sizes, len(tx.Entries))
			for _, e := range tx.Entries {
				got = append(got, fmt.Sprint(false, e.Sequence.Counter))
			}
			if tx.Cancel != nil {
				got = append(got, fmt.Sprint(true, tx.Cancel.Sequence.Counter))
			}
			l.takes <- struct{}{}
		case do := <-n.tasks:
			do()
		case <-ctx.Done():
			t.Fatalf("handed over are %v", got)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("handed over are %v", got)
	}
	if want := []int{1, 50, 10, 0, 50, 38}; !slices.Equal(sizes, want) {
		t.Errorf("transactions have %v entries, want %v", sizes, want)
	}
}

// at takes everything at once, and notes how many entries it had.
type at struct {
	Ledger
	mu    sync.Mutex
	sizes []int
}

func (l *at) Submit(_ context.Context, tx ledger.Sent) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sizes = append(l.sizes, len(tx.Entries))
	return nil
}

func (l *at) taken() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.sizes)
}

// The first entry does not wait; those of the next 50 ms go together, though the ledger would take each at once.
func TestEntriesWaitForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &at{}
		n := &Node{cfg: Config{Log: slog.New(slog.DiscardHandler)}, ctx: t.Context(), tasks: make(chan func(), 1)}
		c := &contract{n: n, set: &Contract{Ledger: l}}
		for range 10 {
			c.submit(ledger.Sent{By: "a", Entries: make([]ledger.Entry, 1)})
			<-time.After(5 * time.Millisecond)
			synctest.Wait()
			select {
			case do := <-n.tasks:
				do()
			default:
			}
		}
		for len(l.taken()) < 2 || c.sending {
			(<-n.tasks)()
			synctest.Wait()
		}
		n.group.Wait()
		if !slices.Equal(l.taken(), []int{1, 9}) {
			t.Errorf("transactions have %v entries, want the first alone, and nine", l.taken())
		}
	})
}
