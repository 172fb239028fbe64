package pgmint_test

import (
	"context"
	"errors"
	"testing"

	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence/pgfence"
)

// A way down that is refused for a leader does not first wait for its acts, with every
// fence, bid and look behind it. Without a leader it waits for a moment only.
func TestDownStopsNobody(t *testing.T) {
	t.Parallel()
	db, a, token, act, pid := minttest.Working(t)
	cfg := pgmint.Config{URL: db.URL}
	ctx, cancel := context.WithTimeout(t.Context(), unhurried)
	defer cancel()
	var held *pgmint.HeldError
	if err := pgmint.Down(ctx, cfg, nil); !errors.As(err, &held) {
		t.Fatalf("down under a holder whose act is under way: %v", err)
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
