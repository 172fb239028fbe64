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
	return migrate.Set{Wing: "schedule", Files: migrate.Folder(files)}
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

var known = migrate.Range{Min: SchemaMin, Max: SchemaMax, Missing: "tables for crons and jobs", Present: "the tables of crons and jobs are"}

// JobsError reports that the tables cannot be removed, because jobs have not ended.
type JobsError struct{ Open, Dead int }

func (e *JobsError) Error() string {
	return fmt.Sprintf("%d jobs have not ended and %d are dead: let workers end them, and retry or discard the dead ones", e.Open, e.Dead)
}

// RefuseJobs returns a [*JobsError] if jobs have not ended, and locks the tables, in the transaction that removes them.
func RefuseJobs(ctx context.Context, tx pgx.Tx) error {
	return migrate.LockUnused(ctx, tx, `conch.crons, conch.jobs, conch.job_ready, conch.job_later, conch.job_waiting, conch.job_taken, conch.job_dead`, func(ctx context.Context, tx pgx.Tx) error {
		var e JobsError
		err := tx.QueryRow(ctx, `
			SELECT (SELECT count(*) FROM conch.job_ready) + (SELECT count(*) FROM conch.job_later) + (SELECT count(*) FROM conch.job_waiting)
			     + (SELECT count(*) FROM conch.job_taken), (SELECT count(*) FROM conch.job_dead)`).Scan(&e.Open, &e.Dead)
		if err == nil && e != (JobsError{}) {
			return &e
		}
		return err
	})
}
