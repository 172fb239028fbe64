package pgstore_test

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// Without the tables a program says what is missing.
func TestTablesThatAreMissing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := opened(t, db.Config(), 1)
	if err := d.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := migrate.Down(t.Context(), db.Connect(t), nil, pgstore.Tables); err != nil {
		t.Fatal(err)
	}
	var schema *migrate.VersionError
	if err := d.Check(t.Context()); !errors.As(err, &schema) || schema.Version != 0 {
		t.Errorf("without tables: %v, want a VersionError", err)
	}
}
