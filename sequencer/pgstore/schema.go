package pgstore

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/migrate"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the migrations of the tables. They need the election's schema.
func Migrations() migrate.Set {
	return migrate.Set{Wing: "sequencer", Files: migrate.Folder(files)}
}

// Up migrates the tables to the latest version.
func Up(ctx context.Context, conn *pgx.Conn, progress func(string)) error {
	return migrate.Up(ctx, conn, Migrations(), progress)
}

// The versions that this program knows. Tables of version N work with programs N and N − 1, so it also works with schemaMax + 1.
const (
	schemaMin = 2
	schemaMax = 2
)

// SchemaError reports that this program cannot work with the tables. Version 0 means none.
type SchemaError struct{ Version int }

func (e *SchemaError) Error() string { return known.Refusal(e.Version) }

var known = migrate.Range{Min: schemaMin, Max: schemaMax, Missing: "tables for a node of the sequencer", Present: "the tables of the sequencer are"}

// OpenError reports that the tables cannot be removed, because work is unfinished.
type OpenError struct {
	Intents    int // that have not ended
	Dispatches int // that the ledger has not decided
}

func (e *OpenError) Error() string {
	return fmt.Sprintf("%d intents have not ended and %d dispatches are not decided: grants that have left could no longer be followed: let the node finish them first", e.Intents, e.Dispatches)
}

// RefuseOpen returns an [*OpenError] if work is unfinished, and locks the tables, in the transaction that
// removes them. Keys, results and states go too: a known key is then a new intent, and the book begins anew.
func RefuseOpen(ctx context.Context, tx pgx.Tx) error {
	// In the order in which a write takes the locks.
	return migrate.LockUnused(ctx, tx, `conch.sequencer_nodes, conch.sequencer_contracts, conch.sequencer_intents, conch.sequencer_dispatches`, countOpen)
}

func countOpen(ctx context.Context, tx pgx.Tx) error {
	var e OpenError
	err := tx.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM conch.sequencer_intents WHERE NOT ended), (SELECT count(*) FROM conch.sequencer_dispatches)`).Scan(&e.Intents, &e.Dispatches)
	if err == nil && e != (OpenError{}) {
		return &e
	}
	return err
}
