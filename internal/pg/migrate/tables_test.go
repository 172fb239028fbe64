package migrate_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Tables of version N work with programs N and N − 1. What does not fit says what to do.
func TestVersionsThatFit(t *testing.T) {
	t.Parallel()
	ctx, conn := t.Context(), pgtest.New(t).Connect(t)
	shells := set(files("0001_a.up.sql", "SELECT 1", "0002_b.up.sql", "SELECT 1", "0003_c.up.sql", "SELECT 1", "0004_d.up.sql", "SELECT 1"))
	shells.Oldest, shells.Missing, shells.Present = 3, "tables for shells", "the tables of shells are"
	for version, want := range []string{
		"the database has no tables for shells: run `conch migrate up`",
		"the tables of shells are at version 1, this program needs 3: run `conch migrate up`",
		"the tables of shells are at version 2, this program needs 3: run `conch migrate up`",
		"", "", "",
		"the tables of shells are at version 6, this program knows up to 4: upgrade the program",
	} {
		if version == 1 {
			if err := shells.Up(ctx, conn, nil); err != nil {
				t.Fatal(err)
			}
		}
		if version > 0 {
			run(t, conn, fmt.Sprintf(`DELETE FROM conch.schema_version; INSERT INTO conch.schema_version VALUES (%d, 'x', 'x')`, version))
		}
		err := shells.Check(ctx, conn)
		if refused, is := errors.AsType[*migrate.VersionError](err); is != (want != "") || is && (err.Error() != want || refused.Version != version) {
			t.Errorf("version %d: got %v, want %q", version, err, want)
		}
	}
}

// Tables with unfinished work are refused before their lock is asked for, since all who write would wait behind it, and again under
// the lock, since there may be work meanwhile.
func TestTablesAreLockedUnlessWorkIsUnfinished(t *testing.T) {
	t.Parallel()
	ctx, conn := t.Context(), pgtest.New(t).Connect(t)
	if err := set(two()).Up(ctx, conn, nil); err != nil {
		t.Fatal(err)
	}
	const held = `SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND pid = pg_backend_pid()
		AND relation IN ('conch.one'::regclass, 'conch.two'::regclass)`
	for _, c := range []struct {
		counts, refusal string
		locked          int
	}{
		{`SELECT 0, 1 - (` + held + `)`, "0 are open and 1 wait", 0},
		{`SELECT (` + held + `), 0`, "2 are open and 0 wait", 2},
		{`SELECT 0, 0`, "", 2},
	} {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			err := migrate.Unfinished(`conch.one, conch.two`, c.counts, "%d are open and %d wait")(ctx, tx)
			var locked int
			if err := tx.QueryRow(ctx, held).Scan(&locked); err != nil || locked != c.locked {
				t.Errorf("%s: %d tables are locked, error %v, want %d", c.counts, locked, err, c.locked)
			}
			return err
		})
		if open, is := errors.AsType[*migrate.OpenError](err); is != (c.refusal != "") || is && open.Error() != c.refusal {
			t.Errorf("%s: got %v, want %q", c.counts, err, c.refusal)
		}
	}
}

func run(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}
