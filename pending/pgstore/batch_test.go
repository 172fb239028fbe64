package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// batchOf returns intents with these keys, of which each has a call of its own, and what each takes of a limit.
func (w *treasury) batchOf(version int64, takes []pgstore.Take, keys ...string) (all []pending.Intent, of []pgstore.Reservation) {
	for _, key := range keys {
		all = append(all, pending.Intent{Account: pendingtest.Account, Key: key, Call: chain.Call{Gas: 1, Data: []byte(key)}})
		of = append(of, pgstore.Reservation{Token: "payout", Version: version, Takes: takes})
	}
	return all, of
}

// placeOf returns which one of a batch an error is about, and why.
func placeOf(t *testing.T, err error) (int, error) {
	t.Helper()
	e, is := errors.AsType[*pending.PlaceError](err)
	if !is {
		t.Fatalf("got error %v, want one about one of the batch", err)
	}
	return e.Place, e.Err
}

// Rule reserve-with-accept (C4.7): a batch is stored whole, in its order, or not at all, and what it takes is taken once, for all of it. The
// same batch again is the same intents and takes nothing, and one that is refused is named.
func TestABatchIsStoredWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	w := openTreasury(t, of(pgstore.OfValue, 10))
	ctx, store, version := t.Context(), w.nodes[0], w.by.Version
	one := []pgstore.Take{of(pgstore.OfValue, 2)}
	all, takes := w.batchOf(version, one, "c", "a", "b")
	first, err := store.AcceptAll(ctx, all, takes)
	if err != nil || w.spent(pgstore.OfValue) != 6 || w.count("intents") != 3 {
		t.Fatalf("got %+v, error %v, with %d spent and %d stored; want 3 for 6", first, err, w.spent(pgstore.OfValue), w.count("intents"))
	}
	q, err := store.Queue(ctx, pendingtest.Account, false, 9)
	if err != nil || !slices.EqualFunc(q.Oldest, first, func(r pending.Record, in pending.Intent) bool { return r.ID == in.ID && r.Key == in.Key }) {
		t.Errorf("the queue is %+v, error %v; want the order of the batch", q.Oldest, err)
	}
	again, err := store.AcceptAll(ctx, all, takes)
	if err != nil || !slices.EqualFunc(again, first, func(a, b pending.Intent) bool { return a.ID == b.ID }) || w.spent(pgstore.OfValue) != 6 {
		t.Errorf("again: %+v, error %v, with %d spent; want the same, and nothing taken", again, err, w.spent(pgstore.OfValue))
	}
	unchanged := func(what string) {
		t.Helper()
		if w.spent(pgstore.OfValue) != 6 || w.count("intents") != 3 || w.count("pending_events") != 3 || w.count("pending_reserved") != 3 {
			t.Errorf("%s: %d spent, %d intents, %d events, %d reservations; want 6 and 3 as before", what, w.spent(pgstore.OfValue), w.count("intents"), w.count("pending_events"), w.count("pending_reserved"))
		}
	}
	all, takes = w.batchOf(version, one, "a", "d", "e", "f")
	_, err = store.AcceptAll(ctx, all, takes)
	if place, why := placeOf(t, err); place != 3 || over(why) == nil || over(why).Again.IsZero() || over(why).Spent.Int64() != 6 || over(why).Batch.Int64() != 6 {
		t.Errorf("a limit: got place %d, %+v; want the fourth, which may be asked for again, with 6 spent before and 6 needed", place, why)
	}
	unchanged("a limit")
	all, takes = w.batchOf(version, one, "d", "e", "f", "g", "h", "i")
	if place, why := placeOf(t, func() error { _, err := store.AcceptAll(ctx, all, takes); return err }()); place != 2 || over(why) == nil || !over(why).Again.IsZero() {
		t.Errorf("more than all of a limit: got place %d, %v; want the third, and that it never fits", place, why)
	}
	unchanged("more than all of a limit")
	all, takes = w.batchOf(version, one, "d", "b")
	all[1].Call.Gas = 2
	if place, why := placeOf(t, func() error { _, err := store.AcceptAll(ctx, all, takes); return err }()); place != 1 || !errors.Is(why, pending.ErrConflict) {
		t.Errorf("another call: got place %d, %v; want the second, and a conflict", place, why)
	}
	unchanged("another call")
	all, takes = w.batchOf(version, one, "a", "d")
	takes[0].Version, takes[1].Version = 0, 0
	if place, why := placeOf(t, func() error { _, err := store.AcceptAll(ctx, all, takes); return err }()); place != 1 || !errors.Is(why, pgstore.ErrPolicyChanged) {
		t.Errorf("refused by its policy: got place %d, %v; want the second", place, why)
	}
	unchanged("refused by its policy")
}

// However many send the same keys at once, in batches of any order and alone, over two nodes: each key is one intent, and no limit is
// exceeded. Without a policy, batches in another order wait for one another's keys, until the database ends one of them, which tries again.
func TestRacingBatches(t *testing.T) {
	t.Parallel()
	t.Run("within a policy", func(t *testing.T) { t.Parallel(); raceBatches(t, true, 6, 4) })
	t.Run("without one", func(t *testing.T) { t.Parallel(); raceBatches(t, false, 4, 2) })
}

func raceBatches(t *testing.T, limited bool, many, rounds int) {
	t.Helper()
	const most, keys = 150, 40
	w := openTreasury(t, of(pgstore.OfValue, most))
	stores, version := w.nodes, w.by.Version
	var mu sync.Mutex
	ids := map[string]map[pending.ID]bool{}
	note := func(in pending.Intent) {
		mu.Lock()
		defer mu.Unlock()
		if ids[in.Key] == nil {
			ids[in.Key] = map[pending.ID]bool{}
		}
		ids[in.Key][in.ID] = true
	}
	var callers sync.WaitGroup
	for caller := range many {
		callers.Go(func() {
			for round := range rounds {
				var mine []string
				for i := range keys {
					mine = append(mine, fmt.Sprintf("%d/%d", round, i))
				}
				if caller%2 == 0 {
					slices.Reverse(mine)
				}
				all, takes := w.batchOf(version, []pgstore.Take{of(pgstore.OfValue, 1)}, mine...)
				if !limited {
					takes = make([]pgstore.Reservation, len(all))
				}
				if caller%3 == 0 { // alone
					for i, in := range all {
						if out, err := stores[caller%2].AcceptWithin(t.Context(), in, takes[i]); err == nil {
							note(out)
						} else if over(err) == nil && !errors.Is(err, context.DeadlineExceeded) { // a slow machine
							t.Error(err)
						}
					}
					continue
				}
				out, err := stores[caller%2].AcceptAll(t.Context(), all, takes)
				for _, in := range out {
					note(in)
				}
				if err != nil && over(err) == nil && !errors.Is(err, pending.ErrBusy) && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			}
		})
	}
	pgtest.Within(t, 4*time.Minute, "all callers are answered", callers.Wait)
	for key, all := range ids {
		if len(all) != 1 {
			t.Errorf("the key %s has %d intents", key, len(all))
		}
	}
	if !limited {
		if n := w.count("intents"); n > keys*rounds || n < len(ids) {
			t.Errorf("%d intents are stored, want %d", n, len(ids))
		}
		return
	}
	if spent := w.spent(pgstore.OfValue); spent > most || int(spent) != w.count("intents") {
		t.Errorf("%d are spent of %d, and %d stored; want as many stored as spent", spent, most, w.count("intents"))
	}
}
