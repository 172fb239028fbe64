package pgmint_test

import (
	"context"
	"errors"
	"testing"

	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence/pgfence"
)

// While a scope is led, Down returns at once and does not wait for acts, with every fence and bid
// behind it. Without a leader it waits only briefly.
func TestDownStopsNobody(t *testing.T) {
	t.Parallel()
	db, a, token, act, pid := minttest.Working(t)
	cfg := pgmint.Config{URL: db.URL}
	ctx, cancel := context.WithTimeout(t.Context(), unhurried)
	defer cancel()
	var held *pgmint.HeldError
	if err := pgmint.Down(ctx, cfg, nil); !errors.As(err, &held) {
		t.Fatalf("Down while a holder acts: got %v, want a HeldError", err)
	}
	_ = a.Close()
	minttest.BlockedBy(t, pgmint.Down(ctx, cfg, nil), pid)
	if err := pgfence.Fence(ctx, db.Connect(t), token); err != nil {
		t.Error(err)
	}
	if err := act.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := pgmint.Down(ctx, cfg, nil); err != nil {
		t.Error(err)
	}
}
