package pgstore_test

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/pgstore"
)

// The tables cannot be removed while an intent or a dispatch is open: a grant may have left. Without them a program says
// what is missing.
func TestTablesAreRemovedOnlyWhenAllHasEnded(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := opened(t, db.Config())
	conn := db.Connect(t)
	if err := d.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := begin(t, d, 1)
	everything(t, s)
	down := func() error { return migrate.Down(t.Context(), conn, nil, pgstore.Tables) }
	var open *migrate.OpenError
	if err := down(); !errors.As(err, &open) || open.Open != [2]int{1, 1} {
		t.Errorf("with open work: %v, want an OpenError with one of each", err)
	}
	write(t, s, core.Change{Contract: "k", Over: []ledger.Intent{{Owner: "x", Sequence: number(1)}}, Sender: &sender.Store{Results: []ledger.Result{{Sequence: number(1)}}}})
	if err := down(); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_class WHERE relname LIKE 'sequencer%' AND relname NOT LIKE 'sequencer_schema_version%'`).Scan(&left); err != nil || left > 0 {
		t.Errorf("%d things are left, error %v", left, err)
	}
	var schema *migrate.VersionError
	if err := d.Check(t.Context()); !errors.As(err, &schema) || schema.Version != 0 {
		t.Errorf("without tables: %v, want a VersionError", err)
	}
	if err := pgstore.Tables.Up(t.Context(), conn, nil); err != nil {
		t.Fatal(err)
	}
	if all, err := pgstore.Tables.Status(t.Context(), conn); err != nil || len(all) != pgstore.Tables.Newest() || all[0].AppliedAt == nil {
		t.Errorf("the status is %+v, %v", all, err)
	}
	everything(t, begin(t, d, 1))
}
