package pgstore

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/migrate"
)

//go:embed migrations/*.sql
var files embed.FS

// migrations returns those of the tables. They need the election's schema.
func migrations() migrate.Set {
	return migrate.Set{Wing: "log", Files: migrate.Folder(files)}
}

// Up migrates the tables to the latest version.
func Up(ctx context.Context, conn *pgx.Conn, progress func(string)) error {
	return migrate.Up(ctx, conn, migrations(), progress)
}

// schemaMin and schemaMax are the versions that this program knows. Tables of version N work with
// programs N and N − 1, so it also works with schemaMax + 1.
const (
	schemaMin = 2
	schemaMax = 2
)

// schemaError reports that this program cannot work with the tables. Version 0 means none.
type schemaError struct{ Version int }

func (e *schemaError) Error() string { return known.Refusal(e.Version) }

var known = migrate.Range{Min: schemaMin, Max: schemaMax, Missing: "tables for a log", Present: "the tables of the log are"}
