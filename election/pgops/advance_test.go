package pgops_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Advance raises an epoch by hand and deposes the leader.
func TestAdvance(t *testing.T) {
	t.Parallel()
	db, m, a, token := setup(t)
	cfg := pgmint.Config{URL: db.URL}
	if err := pgops.Advance(t.Context(), cfg, "s", token.Epoch, "ops"); err == nil {
		t.Error("advancing to the current epoch: got no error, want one")
	}
	if err := pgops.Advance(t.Context(), cfg, "s", 500, "ops"); err != nil {
		t.Fatal(err)
	}
	if alive, err := a.Beat(t.Context(), []mint.Pulse{{Token: token}}); err != nil || alive[0] != mint.Over {
		t.Errorf("the heartbeat of the deposed holder: got %v, %v, want Over", alive, err)
	}
	_ = a.Close()
	b := candidate(t, m, "b", unhurried, mint.Strict)
	r := bid(t, b, mint.Bid{Scope: "s", Lease: time.Second})
	if r.Outcome != mint.Won || r.Token.Epoch != 501 || r.Hold != unhurried {
		t.Errorf("the next bid: got %+v, want epoch 501 and a hold of %s, since the deposed holder may still act", r, unhurried)
	}
	if err := pgops.Advance(t.Context(), cfg, "never-led", 90, "ops"); err != nil {
		t.Fatal(err)
	}
	if r := bid(t, b, mint.Bid{Scope: "never-led", Lease: time.Second}); r.Token.Epoch != 91 {
		t.Errorf("a bid for a scope that was never led: got %+v, want epoch 91", r)
	}
	for _, scope := range []string{"never-led", "new"} { // no bid could count on from the last 64-bit number
		err := pgops.Advance(t.Context(), cfg, scope, math.MaxInt64, "ops")
		if err == nil || !strings.Contains(err.Error(), "4611686018427387904") {
			t.Errorf("advancing %q to the last of all epochs: got %v, want an error that names the highest allowed", scope, err)
		}
		if err := pgops.Advance(t.Context(), cfg, scope, pgops.MaxAdvance, "ops"); err != nil {
			t.Error(err)
		}
		if r := bid(t, b, mint.Bid{Scope: scope, Lease: time.Second}); r.Token.Epoch != pgops.MaxAdvance+1 {
			t.Errorf("a bid for %q: got %+v, want the epoch after MaxAdvance", scope, r)
		}
	}
}

// A transaction that is past its fence commits while its token is current: Advance, which
// makes the token stale, waits for that commit.
func TestAdvanceWaitsForFences(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	token := lead(t, candidate(t, newMint(t, db.URL), "a", unhurried, mint.Strict), "s", unhurried)
	app, watching := db.Connect(t), db.Connect(t)
	tx, err := app.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := pgfence.Fence(t.Context(), tx, token); err != nil {
		t.Fatal(err)
	}
	advanced := make(chan error, 1)
	go func() { advanced <- pgops.Advance(t.Context(), pgmint.Config{URL: db.URL}, "s", 500, "ops") }()
	pgtest.Eventually(t, 30*time.Second, "Advance to wait for the fence", func() bool {
		select {
		case err := <-advanced:
			t.Fatalf("Advance returned %v while a fence was open, want it to wait", err)
		default:
		}
		var waits bool
		return watching.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
			AND application_name = 'conch admin' AND wait_event_type = 'Lock' AND wait_event = 'advisory')`).Scan(&waits) == nil && waits
	})
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatalf("the fenced commit, which came first: %v", err)
	}
	select {
	case err := <-advanced:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("Advance still waits, though no fence is open")
	}
	if err := pgfence.Fence(t.Context(), app, token); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the fence with the old token: got %v, want ErrStale", err)
	}
}

// An epoch is not raised under an act. The error names the session that acts.
func TestAdvanceNamesWhoIsInTheWay(t *testing.T) {
	t.Parallel()
	db, _, token, act, pid := minttest.Working(t)
	cfg := pgmint.Config{URL: db.URL}
	ctx, cancel := context.WithTimeout(t.Context(), unhurried)
	defer cancel()
	minttest.BlockedBy(t, pgops.Advance(ctx, cfg, "s", 100, "ops"), pid)
	if err := pgfence.Fence(ctx, db.Connect(t), token); err != nil {
		t.Error(err)
	}
	if err := act.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := pgops.Advance(ctx, cfg, "s", 100, "ops"); err != nil {
		t.Error(err)
	}
}
