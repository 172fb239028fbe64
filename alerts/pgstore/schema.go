package pgstore

import (
	"context"
	"embed"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/migrate"
)

//go:embed migrations/*.sql
var files embed.FS

// Tables are those of alerts. They need the election's schema.
var Tables = migrate.Tables{
	Wing: "alerts", Files: migrate.Folder(files), Oldest: 1, Missing: "tables for alerts", Present: "the tables of alerts are",
	Guard: migrate.Unfinished(`conch.alert_groups, conch.alert_members, conch.alert_tellings, conch.silences`, `
		SELECT (SELECT count(*) FROM conch.alert_groups g WHERE g.fires), (SELECT count(*) FROM conch.alert_tellings t WHERE t.asked OR t.doubt)`,
		"%d groups fire and %d receivers are being told: have them end, or wait for the answers"),
}

// Up migrates the tables to the latest version.
func Up(ctx context.Context, conn *pgx.Conn, progress func(string)) error {
	return Tables.Up(ctx, conn, progress)
}
