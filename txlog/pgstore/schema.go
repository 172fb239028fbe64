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
	return migrate.Set{Wing: "log", Files: migrate.Folder(files)}
}

// Up migrates the tables to the latest version.
func Up(ctx context.Context, conn *pgx.Conn, progress func(string)) error {
	return migrate.Up(ctx, conn, Migrations(), progress)
}

// Status returns the migrations, and when each was applied.
func Status(ctx context.Context, conn *pgx.Conn) ([]migrate.Applied, error) {
	return migrate.Status(ctx, conn, Migrations())
}

// SchemaMin and SchemaMax are the versions that this program knows. Tables of version N work with
// programs N and N − 1, so it also works with SchemaMax + 1.
const (
	SchemaMin = 2
	SchemaMax = 2
)

// SchemaError reports that this program cannot work with the tables. Version 0 means none.
type SchemaError struct{ Version int }

func (e *SchemaError) Error() string { return known.Refusal(e.Version) }

var known = migrate.Range{Min: SchemaMin, Max: SchemaMax, Missing: "tables for a log", Present: "the tables of the log are"}

// LogsError reports that the tables cannot be removed, because logs are in them.
type LogsError struct{ Logs, Entries int }

func (e *LogsError) Error() string {
	return fmt.Sprintf("%d logs with %d entries are here, and what was acknowledged would be lost: delete the rows of conch.log_record and conch.log first, if nobody needs them", e.Logs, e.Entries)
}

// RefuseLogs returns a [*LogsError] if there is a log, and locks the tables, in the transaction that removes them.
func RefuseLogs(ctx context.Context, tx pgx.Tx) error {
	return migrate.LockUnused(ctx, tx, `conch.log, conch.log_record`, func(ctx context.Context, tx pgx.Tx) error {
		var e LogsError
		err := tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM conch.log), (SELECT count(*) FROM conch.log_record)`).Scan(&e.Logs, &e.Entries)
		if err == nil && e != (LogsError{}) {
			return &e
		}
		return err
	})
}
