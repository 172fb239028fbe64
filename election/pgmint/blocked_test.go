package pgmint_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// working is a leader of scope "s" and a fenced transaction of it that does not end.
func working(t *testing.T) (db *pgtest.DB, a election.Session, token fence.Token, act pgx.Tx, pid uint32) {
	t.Helper()
	db = pgtest.New(t)
	a = candidate(t, newMint(t, db.URL), "a", unhurried, election.Strict)
	token = lead(t, a, "s", unhurried)
	app := db.Connect(t)
	act, err := app.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := pgfence.Fence(t.Context(), act, token); err != nil {
		t.Fatal(err)
	}
	return db, a, token, act, app.PgConn().PID()
}

// names demands an error that says who is in the way and what to do.
func names(t *testing.T, err error, pid uint32) {
	t.Helper()
	var inUse *pgmint.BlockedError
	if !errors.As(err, &inUse) || len(inUse.By) != 1 || inUse.By[0].PID != int32(pid) ||
		!strings.Contains(pgmint.Sentence(err), fmt.Sprintf("pid %d (conch-test): nothing was changed", pid)) {
		t.Errorf("%v, want pid %d", err, pid)
	}
}

// A way down that is refused for a leader does not first wait for its acts, with every
// fence, bid and look behind it. Without a leader it waits for a moment only.
func TestDownStopsNobody(t *testing.T) {
	t.Parallel()
	db, a, token, act, pid := working(t)
	cfg := pgmint.Config{URL: db.URL}
	ctx, cancel := context.WithTimeout(t.Context(), unhurried)
	defer cancel()
	var held *pgmint.HeldError
	if err := pgmint.Down(ctx, cfg, nil); !errors.As(err, &held) {
		t.Fatalf("down under a holder whose act is under way: %v", err)
	}
	_ = a.Close()
	names(t, pgmint.Down(ctx, cfg, nil), pid)
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

// An epoch is not raised under an act; whoever holds that up is named.
func TestAdvanceNamesWhoIsInTheWay(t *testing.T) {
	t.Parallel()
	db, _, token, act, pid := working(t)
	cfg := pgmint.Config{URL: db.URL}
	ctx, cancel := context.WithTimeout(t.Context(), unhurried)
	defer cancel()
	names(t, pgmint.Advance(ctx, cfg, "s", 100, "ops"), pid)
	if err := pgfence.Fence(ctx, db.Connect(t), token); err != nil {
		t.Error(err)
	}
	if err := act.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := pgmint.Advance(ctx, cfg, "s", 100, "ops"); err != nil {
		t.Error(err)
	}
}
