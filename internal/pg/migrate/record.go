package migrate

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

type record struct {
	Version   int
	Name      string
	Checksum  string
	AppliedAt time.Time
}

// DriftError means that a migration changed after it was applied.
type DriftError struct {
	Version int
	Name    string
}

func (e *DriftError) Error() string {
	return fmt.Sprintf("migration %04d_%s was changed after it was applied: "+
		"restore the file, and put the change into a new migration", e.Version, e.Name)
}

// prepare creates the schema and the table if they are missing. It checks first, since
// CREATE SCHEMA IF NOT EXISTS needs the privilege even if the schema exists.
func (t Tables) prepare(ctx context.Context, tx pgx.Tx) error {
	var schema, table bool
	err := tx.QueryRow(ctx, `SELECT to_regnamespace('conch') IS NOT NULL, to_regclass($1) IS NOT NULL`, t.record()).
		Scan(&schema, &table)
	if err != nil {
		return err
	}
	if !schema {
		if _, err := tx.Exec(ctx, `CREATE SCHEMA conch`); err != nil {
			return err
		}
	}
	if table {
		return nil
	}
	_, err = tx.Exec(ctx, t.createRecord())
	return err
}

func (t Tables) createRecord() string {
	return `CREATE TABLE ` + t.record() + ` (
    version    int PRIMARY KEY CHECK (version > 0),
    name       text NOT NULL,
    checksum   text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now())`
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (t Tables) records(ctx context.Context, q querier) ([]record, error) {
	var exists bool
	if err := q.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, t.record()).Scan(&exists); err != nil || !exists {
		return nil, err
	}
	rows, _ := q.Query(ctx, `SELECT version, name, checksum, applied_at FROM `+t.record()+` ORDER BY version`) // they have its error
	return pgx.CollectRows(rows, pgx.RowToStructByPos[record])
}

// checked compares the applied migrations with the files, except those of a newer program.
func checked(steps []step, applied []record) error {
	for _, done := range applied {
		if done.Version <= len(steps) && steps[done.Version-1].checksum != done.Checksum {
			return &DriftError{Version: done.Version, Name: done.Name}
		}
	}
	return nil
}
