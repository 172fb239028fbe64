package pgstore

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/migrate"
)

//go:embed migrations/*.sql
var files embed.FS

// Tables are those of crons and jobs. They need the election's schema.
var Tables = migrate.Tables{
	Wing: "schedule", Files: migrate.Folder(files), Oldest: 2, Missing: "tables for crons and jobs", Present: "the tables of crons and jobs are",
	Guard: migrate.Unfinished(`conch.crons, conch.jobs, conch.job_ready, conch.job_later, conch.job_waiting, conch.job_taken, conch.job_dead`, `
		SELECT (SELECT count(*) FROM conch.job_ready) + (SELECT count(*) FROM conch.job_later) + (SELECT count(*) FROM conch.job_waiting)
		     + (SELECT count(*) FROM conch.job_taken), (SELECT count(*) FROM conch.job_dead)`,
		"%d jobs have not ended and %d are dead: let workers end them, and retry or discard the dead ones"),
}

// Up migrates the tables to the latest version.
func Up(ctx context.Context, conn *pgx.Conn, progress func(string)) error {
	return Tables.Up(ctx, conn, progress)
}
