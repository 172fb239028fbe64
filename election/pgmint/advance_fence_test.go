package pgmint_test

import (
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// What is past its fence commits while its token is current: an operator who makes it
// stale waits for that commit.
func TestAdvanceWaitsForFences(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	token := lead(t, candidate(t, newMint(t, db.URL), "a", unhurried, election.Strict), "s", unhurried)
	app, watching := db.Connect(t), db.Connect(t)
	tx, err := app.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := pgfence.Fence(t.Context(), tx, token); err != nil {
		t.Fatal(err)
	}
	advanced := make(chan error, 1)
	go func() { advanced <- pgmint.Advance(t.Context(), pgmint.Config{URL: db.URL}, "s", 500, "ops") }()
	pgtest.Eventually(t, 30*time.Second, "the operator to wait for the fence", func() bool {
		select {
		case err := <-advanced:
			t.Fatalf("it was advanced past an open fence: %v", err)
		default:
		}
		var waits bool
		return watching.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
			AND application_name = 'conch admin' AND wait_event_type = 'Lock' AND wait_event = 'advisory')`).Scan(&waits) == nil && waits
	})
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatalf("the fenced commit came first and must succeed: %v", err)
	}
	select {
	case err := <-advanced:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it waits although no fence is open")
	}
	if err := pgfence.Fence(t.Context(), app, token); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the fence with a token that was made stale: %v", err)
	}
}
