package pgmint

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/migrate"
)

//go:embed migrations/*.sql
var files embed.FS

// SchemaMin and SchemaMax bound the schema versions this program works with:
// schema N works with programs N and N − 1.
const (
	SchemaMin = 4
	SchemaMax = 4
)

// Migrations are the schema's files.
func Migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		return files // not possible for the name embedded above; no migration is found there
	}
	return sub
}

// SchemaError says that the schema does not fit this program.
type SchemaError struct{ Version int }

func (e *SchemaError) Error() string {
	switch {
	case e.Version == 0:
		return "the database has no schema conch: run `conch migrate up`"
	case e.Version < SchemaMin:
		return fmt.Sprintf("the schema conch is at version %d, this program needs %d: run `conch migrate up`", e.Version, SchemaMin)
	}
	return fmt.Sprintf("the schema conch is at version %d, this program knows up to %d: upgrade the program", e.Version, SchemaMax)
}

// checkVersion accepts one version more than this program was built with.
func checkVersion(v int) error {
	if v < SchemaMin || v > SchemaMax+1 {
		return &SchemaError{Version: v}
	}
	return nil
}

// SchemaStatus is what is applied and what could be.
type SchemaStatus struct {
	Current    int         `json:"current"`
	Latest     int         `json:"latest"`
	Migrations []Migration `json:"migrations"`
}

// Migration is one step of the schema.
type Migration struct {
	Version   int        `json:"version"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at"`
}

// Up brings the schema to the latest version. It may run on several processes at
// once.
func Up(ctx context.Context, cfg Config, progress func(string)) error {
	return pg.With(ctx, cfg.Connection(" admin"), func(conn *pgx.Conn) error {
		return migrate.Up(ctx, conn, migrate.Set{Files: Migrations()}, progress)
	})
}

// HeldError says that Down was refused.
type HeldError struct{ Scope, Holder string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s still leads %q: stop its process or drain the scope first", e.Holder, e.Scope)
}

// Down takes the schema away but for the leaderships and their history: epochs
// survive everything, a later Up goes on from them. It refuses while any holder
// lives.
func Down(ctx context.Context, cfg Config, progress func(string)) error {
	return pg.With(ctx, cfg.Connection(" admin"), func(conn *pgx.Conn) error {
		return migrate.Down(ctx, conn, migrate.Removal{Set: migrate.Set{Files: Migrations()}, Guard: RefuseHeld, Progress: progress})
	})
}

// RefuseHeld returns a *[HeldError] while any holder lives, and keeps others from
// leading until the transaction ends: a guard for whoever takes away what leaders
// work on. A *[BlockedError] names transactions that work on it still.
func RefuseHeld(ctx context.Context, tx pgx.Tx) error {
	// Before the lock too: every fence and every bid waits behind whoever waits for that.
	if err := refuseHolder(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `SELECT pg_catalog.set_config('lock_timeout', '1s', true)`); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error { // so that one can ask who is in the way
		_, err := inner.Exec(ctx, `LOCK TABLE conch.leadership IN ACCESS EXCLUSIVE MODE`)
		return err
	})
	switch {
	case pg.Code(err) == pg.CodeLockTimeout:
		by, err := pg.LockHolders(ctx, tx, pgx.RowToStructByPos[LockHolder], `l.locktype = 'relation' AND l.relation = 'conch.leadership'::regclass`)
		if err != nil {
			return err
		}
		return &BlockedError{What: "the table conch.leadership", By: by}
	case err != nil:
		return err
	}
	return refuseHolder(ctx, tx)
}

func refuseHolder(ctx context.Context, tx pgx.Tx) error {
	var e HeldError
	err := tx.QueryRow(ctx, `
		SELECT l.scope, l.holder FROM conch.leadership l
		 WHERE EXISTS (SELECT FROM pg_locks k
		        WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND k.mode = 'ExclusiveLock'
		          AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		          AND (k.classid::bigint << 32) | k.objid::bigint IN (l.lock_key, l.process_key))
		   AND l.parted_at IS NULL
		 ORDER BY l.scope LIMIT 1`).Scan(&e.Scope, &e.Holder)
	switch {
	case err == nil:
		return &e
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	}
	return err
}

// Status reads which migrations are applied.
func Status(ctx context.Context, cfg Config) (SchemaStatus, error) {
	var s SchemaStatus
	err := pg.With(ctx, cfg.Connection(" admin"), func(conn *pgx.Conn) error {
		all, err := migrate.Status(ctx, conn, migrate.Set{Files: Migrations()})
		for _, m := range all {
			s.Latest = max(s.Latest, m.Version)
			if m.AppliedAt != nil {
				s.Current = max(s.Current, m.Version)
			}
			s.Migrations = append(s.Migrations, Migration{Version: m.Version, Name: m.Name, AppliedAt: m.AppliedAt})
		}
		return err
	})
	return s, err
}
