package pgmint_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// F10: lock_timeout is the longest that the lock session waits for a row. Without
// it this bid would wait six seconds, a tenth of its lease.
func TestLockTimeoutEndsABlockedBid(t *testing.T) {
	t.Parallel()
	db, m, a, token := setup(t)
	if _, err := a.Release(t.Context(), []election.Farewell{{Token: token, Released: true}}); err != nil {
		t.Fatal(err)
	}
	blocker, err := db.Connect(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blocker.Exec(t.Context(), `SELECT FROM conch.leadership WHERE scope = 's' FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	gaveUp := make(chan election.Bidding, 1)
	e, err := election.New(election.Config{
		Mint: m, ID: "b", Lease: time.Minute, LockTimeout: 200 * time.Millisecond, Roles: []election.Role{{Scope: "s"}},
		Logger: slog.New(slog.DiscardHandler),
		Events: election.Events{Attempt: func(b election.Bidding) {
			select {
			case gaveUp <- b:
			default:
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = e.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	first := <-gaveUp
	var refused *pgconn.PgError
	if !errors.As(first.Err, &refused) || refused.Code != "55P03" || first.Took > 5*time.Second {
		t.Errorf("the blocked bid took %s and ended with %v", first.Took, first.Err)
	}
	if err := blocker.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Gate("s").Wait(t.Context(), fence.Act); err != nil { // on the same session: nothing was lost
		t.Error(err)
	}
}
