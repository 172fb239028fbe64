package pgstore

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/migrate"
)

//go:embed migrations/*.sql
var files embed.FS

// tables need the election's schema.
var tables = migrate.Tables{
	Wing: "log", Files: migrate.Folder(files), Oldest: 1, Missing: "tables for a log", Present: "the tables of the log are",
}

// Up migrates the tables to the latest version.
func Up(ctx context.Context, conn *pgx.Conn, progress func(string)) error {
	return tables.Up(ctx, conn, progress)
}
