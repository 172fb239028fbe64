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

// SchemaMin and SchemaMax are the oldest and the newest schema version that this program knows. It
// also works with SchemaMax+1, since schema N works with programs N and N − 1.
const (
	SchemaMin = 5
	SchemaMax = 5
)

// Migrations returns the SQL files of the schema.
func Migrations() fs.FS { return migrate.Folder(files) }

// SchemaError says that this program does not work with the schema's version; 0 is no schema.
type SchemaError struct{ Version int }

func (e *SchemaError) Error() string { return known.Refusal(e.Version) }

var known = migrate.Range{Min: SchemaMin, Max: SchemaMax, Missing: "schema conch", Present: "the schema conch is"}

// checkSchema returns a *[SchemaError] if this program does not work with the schema.
func checkSchema(ctx context.Context, conn *pgx.Conn) error {
	version, err := migrate.Version(ctx, conn, migrate.Set{})
	if err == nil && !known.Fits(version) {
		err = &SchemaError{Version: version}
	}
	return err
}

// SchemaStatus lists the migrations, applied or not.
type SchemaStatus struct {
	Current    int         `json:"current"`
	Latest     int         `json:"latest"`
	Migrations []Migration `json:"migrations"`
}

// Migration is one step of the schema; AppliedAt is nil if it is not applied.
type Migration struct {
	Version   int        `json:"version"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at"`
}

// Up migrates the schema to the latest version. Several processes may call it at once.
func Up(ctx context.Context, cfg Config, progress func(string)) error {
	return pg.With(ctx, cfg.Connection(" admin"), func(conn *pgx.Conn) error {
		var strange string // a migration makes these tables only where they are missing
		err := conn.QueryRow(ctx, `SELECT coalesce(pg_catalog.min(c.oid::regclass::text), '') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = 'conch' AND c.relname IN ('leadership', 'leadership_history') AND c.relkind <> 'r'`).Scan(&strange)
		if err == nil && strange != "" {
			err = fmt.Errorf("%s is none of conch's tables, but a view, a foreign or a partitioned table: move it elsewhere (ALTER TABLE %[1]s SET SCHEMA public), and try again", strange)
		}
		if err != nil {
			return err
		}
		return migrate.Up(ctx, conn, migrate.Set{Files: Migrations()}, progress)
	})
}

// HeldError says that Down changed nothing, since Holder still leads Scope.
type HeldError struct{ Scope, Holder string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s still leads %q: stop its process or drain the scope first", e.Holder, e.Scope)
}

// Down removes the schema except for the leaderships and their history, so that a later Up goes on
// from their epochs. Its errors are those of [RefuseHeld], and those of the database.
func Down(ctx context.Context, cfg Config, progress func(string)) error {
	return pg.With(ctx, cfg.Connection(" admin"), func(conn *pgx.Conn) error {
		return migrate.Down(ctx, conn, migrate.Removal{Set: migrate.Set{Files: Migrations()}, Guard: RefuseHeld, Progress: progress})
	})
}

// RefuseHeld guards the removal of tables that leaders use. It returns a *[HeldError] while any
// holder lives, or a *[BlockedError] while transactions use conch.leadership; otherwise it keeps
// every candidate from leading until tx ends.
func RefuseHeld(ctx context.Context, tx pgx.Tx) error {
	// Check before the lock too: while LOCK waits, every fence and every bid waits behind it.
	if err := refuseHolder(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `SELECT pg_catalog.set_config('lock_timeout', '1s', true)`); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error { // a savepoint, for the query after a timeout
		_, err := inner.Exec(ctx, `LOCK TABLE conch.leadership IN ACCESS EXCLUSIVE MODE`)
		return err
	})
	switch {
	case pg.Code(err) == pg.CodeLockTimeout:
		by, err := pg.LockHolders(ctx, tx, `l.locktype = 'relation' AND l.relation = 'conch.leadership'::regclass`)
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

// Status reports which migrations are applied.
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
