package pgmint_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// elector runs until the test ends or stop is called.
func elector(t testing.TB, url, id string, lease time.Duration, more ...election.Role) (e *election.Elector, stop func()) {
	t.Helper()
	e, err := election.New(election.Config{
		Mint: newMint(t, url), ID: id, Lease: lease, Roles: append(more, election.Role{Scope: "s"}),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := e.Run(ctx); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return e, stop
}

func wait(t testing.TB, e *election.Elector, d fence.Door) fence.Token {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	token, err := e.Gate("s").Wait(ctx, d)
	if err != nil {
		t.Fatalf("%s: the %s door did not open: %v", e.ID(), d, err)
	}
	return token
}

// S4, S6, S9, F3, F4: a leader whose session breaks is followed at the fenced door
// at once and at the act door a lease later; a leader that stops hands over both.
func TestElectorsOverPostgres(t *testing.T) { t.Parallel(); bothWays(t, electorsOverPostgres) }

func electorsOverPostgres(t *testing.T) {
	t.Helper()
	db := pgtest.New(t)
	const lease = 2 * time.Second
	a, stopA := elector(t, db.URL, "a", lease)
	first := wait(t, a, fence.Act)
	b, _ := elector(t, db.URL, "b", lease)
	c := db.Connect(t)
	pgtest.Eventually(t, 10*time.Second, "b to wait for a's process", func() bool {
		var n int
		return c.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND `+here).Scan(&n) == nil && n == 1
	})
	began := time.Now()
	stopA()
	second := wait(t, b, fence.Act)
	t.Logf("clean handover: %s from the call to stop to the successor's act door", time.Since(began))
	if second.Epoch != first.Epoch+1 {
		t.Errorf("epochs %d, %d", first.Epoch, second.Epoch)
	}

	d, _ := elector(t, db.URL, "d", lease)
	pgtest.Eventually(t, 10*time.Second, "d to wait for b's process", func() bool {
		var n int
		return c.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND `+here).Scan(&n) == nil && n == 1
	})
	// Both campaign again after the break; whoever is first must hold the act door back.
	began = time.Now()
	run(t, c, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'conch b' AND datname = current_database()`)
	third := wait(t, d, fence.Fenced)
	t.Logf("broken session: fenced door of the successor after %s", time.Since(began))
	if third.Epoch != second.Epoch+1 {
		t.Errorf("epochs %d, %d", second.Epoch, third.Epoch)
	}
	if d.Gate("s").IsOpen(fence.Act) {
		t.Error("the act door opened without waiting for the predecessor's gate")
	}
	wait(t, d, fence.Act)
	if b.Gate("s").IsOpen(fence.Fenced) {
		t.Error("the deposed leader's gate is open")
	}
}

// F6: drain and transfer through the library, seen in the history.
func TestTransferOverPostgres(t *testing.T) { t.Parallel(); bothWays(t, transferOverPostgres) }

func transferOverPostgres(t *testing.T) {
	t.Helper()
	db := pgtest.New(t)
	a, _ := elector(t, db.URL, "a", 2*time.Second)
	wait(t, a, fence.Act)
	b, _ := elector(t, db.URL, "b", 2*time.Second)
	c, _ := elector(t, db.URL, "c", 2*time.Second)
	pgtest.Eventually(t, 10*time.Second, "both to follow", func() bool {
		return b.Snapshot()[0].Holder == "a" && c.Snapshot()[0].Holder == "a"
	})
	if err := a.Transfer(t.Context(), "s", "c"); err != nil {
		t.Fatal(err)
	}
	wait(t, c, fence.Act)
	if err := b.Drain(t.Context(), "s"); !errors.Is(err, election.ErrNotLeading) {
		t.Errorf("drain of a follower: %v", err)
	}
	if err := c.StepDown(t.Context(), election.StepDown{Scope: "s", Actor: "ops", Why: election.ErrStepDown}); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, 10*time.Second, "somebody else to lead", func() bool {
		return a.Gate("s").IsOpen(fence.Act) || b.Gate("s").IsOpen(fence.Act)
	})
	o, err := pgmint.Observe(t.Context(), pgmint.Config{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	events, err := o.History(t.Context(), "s", 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, e.Event+" "+e.Holder+" "+e.Actor)
	}
	want := []string{"acquired a ", "transferred a ", "acquired c ", "drained c ops"}
	for i, w := range want {
		if i >= len(got) || got[i] != w {
			t.Fatalf("history %q, want it to begin with %q", got, want)
		}
	}
	all, err := o.Leaderships(t.Context(), "s")
	if err != nil || len(all) != 1 || !all[0].Held || len(all[0].Candidates) != 3 || all[0].HeartbeatAt == nil || all[0].Epoch != 3 {
		t.Errorf("status: %+v, %v", all, err)
	}
}

// A row on which nothing can be minted keeps no other scope of its process from being led.
func TestABadRowFailsAlone(t *testing.T) { t.Parallel(); bothWays(t, aBadRowFailsAlone) }

func aBadRowFailsAlone(t *testing.T) {
	t.Helper()
	db := pgtest.New(t)
	if err := pgmint.Advance(t.Context(), pgmint.Config{URL: db.URL}, "bad", pgmint.MaxAdvance, "ops"); err != nil {
		t.Fatal(err)
	}
	run(t, db.Connect(t), `UPDATE conch.leadership SET epoch = 9223372036854775807`)
	e, _ := elector(t, db.URL, "a", 2*time.Second, election.Role{Scope: "bad"})
	wait(t, e, fence.Act)
}
