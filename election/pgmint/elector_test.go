package pgmint_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// S4, S6, S9, F3, F4: if a leader's session breaks, the successor's fenced door opens at once and its
// act door a lease later. A leader that stops hands over both at once.
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
		t.Errorf("got epoch %d and then %d, want the next one", first.Epoch, second.Epoch)
	}

	d, _ := elector(t, db.URL, "d", lease)
	pgtest.Eventually(t, 10*time.Second, "d to wait for b's process", func() bool {
		var n int
		return c.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND `+here).Scan(&n) == nil && n == 1
	})
	// Both campaign after the break; the winner must keep its act door shut for the hold.
	began = time.Now()
	run(t, c, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'conch b' AND datname = current_database()`)
	third := wait(t, d, fence.Fenced)
	t.Logf("broken session: fenced door of the successor after %s", time.Since(began))
	if third.Epoch != second.Epoch+1 {
		t.Errorf("got epoch %d and then %d, want the next one", second.Epoch, third.Epoch)
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
		t.Errorf("drain of a follower: got %v, want ErrNotLeading", err)
	}
	if err := c.StepDown(t.Context(), election.StepDown{Scope: "s", Actor: "ops", Why: election.ErrStepDown}); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, 10*time.Second, "another candidate to lead", func() bool {
		return a.Gate("s").IsOpen(fence.Act) || b.Gate("s").IsOpen(fence.Act)
	})
	got := text(t, db.Connect(t), `SELECT string_agg(event || ' ' || holder || ' ' || actor, ', ' ORDER BY id) FROM conch.leadership_history`)
	if want := "acquired a , transferred a , acquired c , drained c ops, acquired "; !strings.HasPrefix(got, want) {
		t.Errorf("the history is %q, want it to begin with %q", got, want)
	}
}

// A row for which no term can be minted does not keep its process from leading other scopes.
func TestABadRowFailsAlone(t *testing.T) { t.Parallel(); bothWays(t, aBadRowFailsAlone) }

func aBadRowFailsAlone(t *testing.T) {
	t.Helper()
	db := pgtest.New(t)
	c := db.Connect(t)
	advance(t, c, "bad", 1)
	run(t, c, `ALTER TABLE conch.leadership DISABLE TRIGGER guard_epoch`)
	run(t, c, `UPDATE conch.leadership SET epoch = 9223372036854775807`)
	e, _ := elector(t, db.URL, "a", 2*time.Second, election.Role{Scope: "bad"})
	wait(t, e, fence.Act)
}
