package pgstore_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// The newest version that is known is that of the newest migration.
func TestTheNewestMigrationIsKnown(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(pgstore.Migrations().Files, "*.up.sql")
	if err != nil || len(files) != pgstore.SchemaMax {
		t.Errorf("%d migrations, error %v; the newest that is known is %d, want the same", len(files), err, pgstore.SchemaMax)
	}
}

// Without the tables a program says what is missing.
func TestTablesThatAreMissing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := opened(t, db.Config(), 1)
	if err := d.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := migrate.Down(t.Context(), db.Connect(t), migrate.Removal{Set: pgstore.Migrations(), Guard: pgstore.RefuseOpen}); err != nil {
		t.Fatal(err)
	}
	var schema *pgstore.SchemaError
	if err := d.Check(t.Context()); !errors.As(err, &schema) || schema.Version != 0 {
		t.Errorf("without tables: %v, want a SchemaError", err)
	}
}
