package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// C4.8: what was taken from one day is given back to that day.
func TestADayHasItsOwn(t *testing.T) {
	t.Parallel()
	w := openTreasury(t, of(pgstore.OfValue, 10), of(pgstore.OfCount, 1))
	in := w.take("", of(pgstore.OfValue, 10))
	for _, table := range []string{"spent", "reserved"} {
		run(t, w.conn, `UPDATE conch.pending_`+table+` SET since = since - interval '1 day'`) // a day has passed
	}
	w.take("", of(pgstore.OfValue, 9))
	if err := w.Cancel(t.Context(), in.ID); err != nil {
		t.Fatal(err)
	}
	_, err := w.ask(0, "", 2, of(pgstore.OfValue, 2))
	e := over(err)
	if e == nil || e.Most.Int64() != 10 || e.Spent.Int64() != 9 || e.Again.Sub(e.At) > 24*time.Hour || !e.Again.Equal(e.At.UTC().Truncate(24*time.Hour).Add(24*time.Hour)) {
		t.Errorf("after yesterday's was given back: %+v, %v; want 9 of 10 spent, until midnight", e, err)
	}
	var yesterday, today int64
	if err := w.conn.QueryRow(t.Context(), `SELECT sum(spent) FILTER (WHERE since < current), sum(spent) FILTER (WHERE since = current)
		FROM conch.pending_spent, date_trunc('day', clock_timestamp(), 'UTC') current WHERE what = 'value'`).Scan(&yesterday, &today); err != nil || yesterday != 0 || today != 9 {
		t.Errorf("yesterday has spent %d, today %d, %v; want 0 and 9", yesterday, today, err)
	}
}

// C4.14: a clock of the database that goes back past midnight, and comes to it again, finds of each day what was spent of it: no day begins
// anew with less.
func TestAClockThatGoesBack(t *testing.T) {
	t.Parallel()
	w := openTreasury(t, of(pgstore.OfValue, 10))
	shift := func(days int) { // by two steps, so that no day comes to lie upon another one
		t.Helper()
		for _, by := range []int{100, days - 100} {
			for _, table := range []string{"spent", "reserved"} {
				pgtest.Exec(t, w.conn, `UPDATE conch.pending_`+table+` SET since = since + $1 * interval '1 day'`, by)
			}
		}
	}
	refused := func(value, spent int64) {
		t.Helper()
		_, err := w.ask(1, "", value, of(pgstore.OfValue, value))
		if e := over(err); e == nil || e.Spent.Int64() != spent {
			t.Errorf("%d more is answered with %+v, %v; want that %d is spent", value, e, err, spent)
		}
	}
	w.take("", of(pgstore.OfValue, 8))
	shift(-1) // midnight
	w.take("", of(pgstore.OfValue, 7))
	shift(1) // the clock is back in the first day
	refused(3, 8)
	w.take("", of(pgstore.OfValue, 2))
	refused(1, 10)
	shift(-1) // midnight again
	refused(4, 7)
	w.take("", of(pgstore.OfValue, 3))
	refused(1, 10)
}

// A count is one of a minute, and tells when that is over. What a limit can never have, it tells too.
func TestACountIsOfAMinute(t *testing.T) {
	t.Parallel()
	w := openTreasury(t, of(pgstore.OfCount, 2), of(pgstore.OfValue, 10))
	for {
		first := w.take("", of(pgstore.OfCount, 1))
		w.take("", of(pgstore.OfCount, 1))
		_, err := w.ask(1, "", 1, of(pgstore.OfCount, 1))
		if err == nil || first.Created.Truncate(time.Minute) != time.Now().Truncate(time.Minute) {
			run(t, w.conn, `DELETE FROM conch.pending_spent`) // the minute ended in between
			continue
		}
		if e := over(err); e == nil || e.What != pgstore.OfCount || !e.Again.Equal(e.At.Truncate(time.Minute).Add(time.Minute)) {
			t.Errorf("the third is answered with %+v, %v; want that the count is used up until the next minute", e, err)
		}
		break
	}
	run(t, w.conn, `UPDATE conch.pending_spent SET since = since - interval '1 minute'`)
	w.take("", of(pgstore.OfCount, 1))
	if _, err := w.ask(1, "", 11, of(pgstore.OfCount, 1), of(pgstore.OfValue, 11)); over(err) == nil || !over(err).Again.IsZero() {
		t.Errorf("more than a whole limit is answered with %v, want that it never passes", err)
	}
}

// A policy counts from the commit that writes it, also for a node that judged by the one before; what was accepted stays, and what was spent (C4.9).
func TestAPolicyThatHasChanged(t *testing.T) {
	t.Parallel()
	w := openTreasury(t, of(pgstore.OfValue, 10))
	w.take("", of(pgstore.OfValue, 8))
	old := w.by
	w.set(of(pgstore.OfValue, 20))
	if w.by, old = old, w.by; old.Version == w.by.Version {
		t.Fatal("a changed policy has the version of the one before")
	}
	if _, err := w.ask(0, "", 1, of(pgstore.OfValue, 1)); !errors.Is(err, pgstore.ErrPolicyChanged) || w.count("intents") != 1 || w.spent(pgstore.OfValue) != 8 {
		t.Errorf("one that was judged by the old policy is answered with %v, and %d is spent; want it refused, and 8", err, w.spent(pgstore.OfValue))
	}
	w.set(of(pgstore.OfValue, 7))
	if _, err := w.ask(0, "", 1, of(pgstore.OfValue, 1)); over(err) == nil || over(err).Spent.Int64() != 8 {
		t.Errorf("under the new limit: %v, want 8 of 7 spent", err)
	}
	if err := w.own.DeletePolicy(t.Context(), "payout", "evm:1"); err != nil {
		t.Fatal(err)
	}
	if err := w.own.DeletePolicy(t.Context(), "payout", "evm:1"); !errors.Is(err, pgstore.ErrNoPolicy) {
		t.Errorf("a second deletion says %v", err)
	}
	if _, err := w.own.Policy(t.Context(), "payout", "evm:1"); !errors.Is(err, pgstore.ErrNoPolicy) {
		t.Errorf("the deleted policy is read with %v", err)
	}
	if _, err := w.ask(0, "", 1, of(pgstore.OfValue, 1)); !errors.Is(err, pgstore.ErrPolicyChanged) {
		t.Errorf("without a policy: %v", err)
	}
	w.set(of(pgstore.OfValue, 10))
	if n := w.spent(pgstore.OfValue); n != 8 {
		t.Errorf("a policy that came back has spent %d, want 8", n)
	}
}

// Callers of many tokens share a batch; of one that asks for too much the others notice nothing.
func TestABatchOfManyTokens(t *testing.T) {
	t.Parallel()
	w := openTreasury(t, of(pgstore.OfValue, 3))
	w.accept("first")
	tx, err := w.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE conch.intents IN EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	faults := make([]error, 9)
	var callers sync.WaitGroup
	for i := range faults {
		callers.Go(func() {
			take := pgstore.Reservation{}
			if i > 0 && i < 8 {
				take = pgstore.Reservation{Token: "payout", Version: w.by.Version, Takes: []pgstore.Take{of(pgstore.OfValue, 1)}}
			}
			_, faults[i] = w.nodes[0].AcceptWithin(context.WithoutCancel(t.Context()), pending.Intent{Account: pendingtest.Account, Key: fmt.Sprint(i), Call: chain.Call{Gas: 1}}, take)
		})
		if i == 0 {
			w.blocked()
		}
	}
	for deadline := time.Now().Add(30 * time.Second); w.nodes[0].InIntake() < 8; {
		if _, err := tx.Exec(t.Context(), `SELECT 1`); err != nil || time.Now().After(deadline) {
			t.Fatalf("%d callers wait, %v", w.nodes[0].InIntake(), err)
		}
	}
	before := w.commits()
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	pgtest.Within(t, time.Minute, "all callers are answered", callers.Wait)
	refused := 0
	for i, err := range faults {
		if over(err) != nil && i > 0 && i < 8 {
			refused++
		} else if err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	if refused != 4 || w.spent(pgstore.OfValue) != 3 || w.commits() != before+2 {
		t.Errorf("%d were refused, %d is spent, in %d commits; want 4, 3 and two", refused, w.spent(pgstore.OfValue), w.commits()-before)
	}
}

// What was taken from a day long over is deleted, and nothing else.
func TestOldDaysAreCleared(t *testing.T) {
	t.Parallel()
	w := openTreasury(t, of(pgstore.OfValue, 10))
	for range 3 {
		w.take("", of(pgstore.OfValue, 1))
	}
	run(t, w.conn, `UPDATE conch.pending_reserved SET since = since - interval '8 days' WHERE ctid IN (SELECT ctid FROM conch.pending_reserved LIMIT 2)`)
	run(t, w.conn, `INSERT INTO conch.pending_spent SELECT token, chain, what, since - interval '8 days', spent FROM conch.pending_spent`)
	for _, want := range []int{1, 1, 0} {
		if n, err := w.own.ClearSpent(t.Context(), 7*24*time.Hour, 1); err != nil || n != want {
			t.Errorf("%d intents were cleared, %v; want %d", n, err, want)
		}
	}
	if w.count("pending_reserved") != 1 || w.count("pending_spent") != 1 || w.spent(pgstore.OfValue) != 3 {
		t.Errorf("what is left: %d intents, %d days, %d spent; want 1, 1, 3", w.count("pending_reserved"), w.count("pending_spent"), w.spent(pgstore.OfValue))
	}
}
