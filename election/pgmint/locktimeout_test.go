package pgmint_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// A bid does not wait for a locked row, since that would delay the heartbeats of all other scopes (R3).
// Once the row is free, the same session wins.
func TestABidWaitsForNoRow(t *testing.T) {
	t.Parallel()
	db, m, a, token := setup(t)
	if _, err := a.Release(t.Context(), []mint.Farewell{{Token: token, Released: true}}); err != nil {
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
	if first.Err != nil || len(first.Results) != 1 || first.Results[0].Outcome != mint.Held || first.Results[0].Process != 0 {
		t.Errorf("the bid beside a locked row: got %+v, want Held without a process", first)
	}
	if err := blocker.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Gate("s").Wait(t.Context(), fence.Act); err != nil { // on the same session
		t.Error(err)
	}
}
