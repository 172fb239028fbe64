package pgstore

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/migrate"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the wing's own tables. They need the election's schema, whose fence
// guards every write.
func Migrations() migrate.Set {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		sub = files // not possible for the name embedded above
	}
	return migrate.Set{Wing: "pending", Files: sub}
}

// Up brings the tables to the latest version.
func Up(ctx context.Context, conn *pgx.Conn, progress func(string)) error {
	return migrate.Up(ctx, conn, Migrations(), progress)
}

// SchemaMin and SchemaMax bound the versions of the tables that this program works
// with: version N works with programs N and N − 1.
const (
	SchemaMin = 4
	SchemaMax = 4
)

// SchemaError says that the tables do not fit this program.
type SchemaError struct{ Version int }

func (e *SchemaError) Error() string {
	switch {
	case e.Version == 0:
		return "the database has no tables for pending transactions: run `conch migrate up`"
	case e.Version < SchemaMin:
		return fmt.Sprintf("the tables of pending transactions are at version %d, this program needs %d: run `conch migrate up`", e.Version, SchemaMin)
	}
	return fmt.Sprintf("the tables of pending transactions are at version %d, this program knows up to %d: upgrade the program", e.Version, SchemaMax)
}

func checkVersion(v int) error {
	if v < SchemaMin || v > SchemaMax+1 {
		return &SchemaError{Version: v}
	}
	return nil
}

// OpenError says that the tables stay.
type OpenError struct {
	Open    int // transactions that are not final
	Waiting int // intents that are accepted and have no transaction yet
}

func (e *OpenError) Error() string {
	if e.Open == 0 {
		return fmt.Sprintf("%d accepted intents wait for their transactions and would be forgotten: let a node send them, or cancel them", e.Waiting)
	}
	return fmt.Sprintf("%d transactions are not final and %d intents wait: signed bytes may be on their way, and nobody would know of them any more: let a node finish them", e.Open, e.Waiting)
}

// RefuseOpen objects, within the transaction that takes the tables away, while something is
// under way. With the tables go the idempotency keys: a key that is used again after that
// means a new intent.
func RefuseOpen(ctx context.Context, tx pgx.Tx) error {
	// Before the locks too: whoever sends or accepts waits behind whoever waits for those.
	if err := countOpen(ctx, tx); err != nil {
		return err
	}
	// In the order in which a write of the leader takes them.
	_, err := tx.Exec(ctx, `LOCK TABLE conch.pending_accounts, conch.pending_transactions, conch.intents IN ACCESS EXCLUSIVE MODE`)
	if err != nil {
		return err
	}
	return countOpen(ctx, tx)
}

func countOpen(ctx context.Context, tx pgx.Tx) error {
	var e OpenError
	err := tx.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM conch.pending_transactions WHERE NOT final),
		       (SELECT count(*) FROM conch.intents WHERE waits)`).Scan(&e.Open, &e.Waiting)
	if err == nil && e != (OpenError{}) {
		return &e
	}
	return err
}

// Status lists the migrations and when each was applied.
func Status(ctx context.Context, conn *pgx.Conn) ([]migrate.Applied, error) {
	return migrate.Status(ctx, conn, Migrations())
}
