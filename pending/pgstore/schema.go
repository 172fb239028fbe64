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

// OpenError says that Down was refused.
type OpenError struct{ Open int }

func (e *OpenError) Error() string {
	return fmt.Sprintf("%d transactions are not final: their signed bytes may be on their way, and nobody would know of them any more", e.Open)
}

// Down takes the tables away, unless a transaction is not final.
func Down(ctx context.Context, conn *pgx.Conn, progress func(string)) error {
	return migrate.Down(ctx, conn, Migrations(), 0, func(ctx context.Context, tx pgx.Tx) error {
		var e OpenError
		if _, err := tx.Exec(ctx, `LOCK TABLE conch.pending_transactions IN ACCESS EXCLUSIVE MODE`); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `SELECT count(*) FROM conch.pending_transactions WHERE NOT final`).Scan(&e.Open)
		if err == nil && e.Open > 0 {
			return &e
		}
		return err
	}, progress)
}
