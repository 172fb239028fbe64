package migrate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Tables of version N work with programs N and N − 1. What does not fit says what to do.
func TestARangeAndWhatToDo(t *testing.T) {
	t.Parallel()
	known := migrate.Range{Min: 3, Max: 4, Missing: "tables for shells", Present: "the tables of shells are"}
	for version, want := range []string{
		"the database has no tables for shells: run `conch migrate up`",
		"the tables of shells are at version 1, this program needs 3: run `conch migrate up`",
		"the tables of shells are at version 2, this program needs 3: run `conch migrate up`",
		"", "", "",
		"the tables of shells are at version 6, this program knows up to 4: upgrade the program",
	} {
		if known.Fits(version) != (want == "") {
			t.Errorf("version %d fits: %v, want %v", version, known.Fits(version), want == "")
		} else if got := known.Refusal(version); want != "" && got != want {
			t.Errorf("version %d: got %q, want %q", version, got, want)
		}
	}
}

// Tables in use are refused before their lock is asked for, since all who write would wait behind it, and again under
// the lock, since they may have come into use meanwhile.
func TestTablesAreLockedUnlessInUse(t *testing.T) {
	t.Parallel()
	ctx, conn := t.Context(), pgtest.New(t).Connect(t)
	if err := migrate.Up(ctx, conn, set(two()), nil); err != nil {
		t.Fatal(err)
	}
	inUse := errors.New("in use")
	for _, c := range []struct{ when, asked int }{{1, 1}, {2, 2}, {0, 2}} { // the question of that number says that they are
		asked, locked := 0, 0
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			return migrate.LockUnused(ctx, tx, `conch.one, conch.two`, func(ctx context.Context, tx pgx.Tx) error {
				asked++
				err := tx.QueryRow(ctx, `SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND pid = pg_backend_pid()
					AND relation IN ('conch.one'::regclass, 'conch.two'::regclass)`).Scan(&locked)
				if err == nil && locked != 2*(asked-1) {
					t.Errorf("question %d sees %d locked tables", asked, locked)
				}
				if err == nil && asked == c.when {
					err = inUse
				}
				return err
			})
		})
		if asked != c.asked || errors.Is(err, inUse) != (c.when > 0) || err != nil && c.when == 0 {
			t.Errorf("in use at question %d: asked %d times, error %v; want %d questions", c.when, asked, err, c.asked)
		}
	}
}
