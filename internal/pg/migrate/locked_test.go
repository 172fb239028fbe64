package migrate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A migration that waits for a table says for whom, lets others by between its tries, and goes on once it can.
func TestAMigrationSaysWhomItWaitsFor(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	conn, reader := db.Connect(t), db.Connect(t)
	one := files("0001_one.up.sql", "CREATE TABLE conch.one (n int)", "0001_one.down.sql", "DROP TABLE conch.one",
		"0002_two.up.sql", "ALTER TABLE conch.one ADD COLUMN m int", "0002_two.down.sql", "ALTER TABLE conch.one DROP COLUMN m")
	if err := set(files("0001_one.up.sql", "CREATE TABLE conch.one (n int)")).Up(t.Context(), conn, nil); err != nil {
		t.Fatal(err)
	}
	exec := func(sql string) {
		t.Helper()
		if _, err := reader.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`BEGIN; SELECT * FROM conch.one`)
	var told []string
	err := set(one).Up(t.Context(), conn, func(line string) {
		told = append(told, line)
		if strings.HasPrefix(line, "election: waits") {
			exec(`ROLLBACK`)
		}
	})
	if err != nil || len(told) != 2 || !strings.Contains(told[0], "holds conch.one (AccessShareLock)") || !strings.Contains(told[0], "SELECT * FROM conch.one") || told[1] != "election: applied 0002_two" {
		t.Errorf("behind a reader: told %q, %v, want it to name the reader and go on", told, err)
	}
	exec(`BEGIN; LOCK TABLE conch.schema_version IN SHARE MODE`)
	err = migrate.Down(t.Context(), conn, nil, set(one))
	if locked, ok := errors.AsType[*pg.LockedError](err); !ok || locked.Locks[0].PID != int32(reader.PgConn().PID()) {
		t.Errorf("behind a reader that stays: got %v, want it to give up and name the reader", err)
	}
	exec(`ROLLBACK`)
	if v := version(t, conn); v != 2 {
		t.Errorf("got version %d, want 2: nothing was changed", v)
	}
}
