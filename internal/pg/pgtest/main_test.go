package pgtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE TABLE seeded AS SELECT 1 AS n")
		return err
	})
	pgtest.Main(m)
}

func TestEachTestHasItsOwnCopyOfTheTemplate(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	one, two := pgtest.New(t), pgtest.New(t)
	if _, err := one.Connect(t).Exec(ctx, "UPDATE seeded SET n = 2"); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := two.Connect(t).QueryRow(ctx, "SELECT n FROM seeded").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != 1 {
		t.Fatalf("the second database has n = %d, want 1", n)
	}
}

// The test is not parallel: its subtest and the subtest's cleanups must end before the query.
func TestADatabaseIsDroppedWithItsSessions(t *testing.T) {
	var name string
	t.Run("leaves a session open", func(t *testing.T) {
		db := pgtest.New(t)
		name = db.Name
		db.Connect(t)
	})
	var left int
	err := pgtest.New(t).Connect(t).QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE datname = $1", name).Scan(&left)
	if err != nil || left != 0 {
		t.Fatalf("%d databases are called %s after the test, want 0 (error %v)", left, name, err)
	}
}
