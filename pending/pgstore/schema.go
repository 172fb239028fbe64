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
	return migrate.Set{Wing: "pending", Files: migrate.Folder(files)}
}

// Up migrates the tables to the latest version.
func Up(ctx context.Context, conn *pgx.Conn, progress func(string)) error {
	return migrate.Up(ctx, conn, Migrations(), progress)
}

// These are the versions that this program knows. Tables of version N work with programs N and N − 1, so it also works with
// schemaMax + 1.
const (
	schemaMin = 10
	schemaMax = 10
)

// SchemaError reports that this program cannot work with the tables. Version 0 means none.
type SchemaError struct{ Version int }

func (e *SchemaError) Error() string { return known.Refusal(e.Version) }

var known = migrate.Range{Min: schemaMin, Max: schemaMax, Missing: "tables for pending transactions", Present: "the tables of pending transactions are"}

// OpenError reports that the tables cannot be removed, because work is unfinished.
type OpenError struct {
	Open    int // transactions that are not final
	Waiting int // intents without a transaction
}

func (e *OpenError) Error() string {
	if e.Open == 0 {
		return fmt.Sprintf("%d accepted intents have no transaction yet and would be lost: let a node send them, or cancel them", e.Waiting)
	}
	return fmt.Sprintf("%d transactions are not final and %d intents wait: transactions that were sent could no longer be followed: let a node finish them first", e.Open, e.Waiting)
}

// RefuseOpen returns an [*OpenError] if work is unfinished, and locks the tables, in the
// transaction that removes them. The idempotency keys go too: a known key is then a new intent.
func RefuseOpen(ctx context.Context, tx pgx.Tx) error {
	// In the order in which a leader's write takes the locks.
	return migrate.LockUnused(ctx, tx, `conch.pending_accounts, conch.pending_transactions, conch.intents`, countOpen)
}

// countOpen reads all rows: it believes no floor.
func countOpen(ctx context.Context, tx pgx.Tx) error {
	var e OpenError
	err := tx.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM conch.pending_transactions WHERE NOT final),
		       (SELECT count(*) FROM conch.intents WHERE waits OR put_off)`).Scan(&e.Open, &e.Waiting)
	if err == nil && e != (OpenError{}) {
		return &e
	}
	return err
}
