package pgmint

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/migrate"
)

//go:embed migrations/*.sql
var files embed.FS

// Tables are those of the election.
var Tables = migrate.Tables{Wing: "election", Files: migrate.Folder(files), Oldest: 4, Missing: "schema conch", Present: "the schema conch is", Guard: refuseHeld}

// SchemaError says that this program does not work with the schema's version; 0 is no schema.
type SchemaError = migrate.VersionError

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
		return Tables.Up(ctx, conn, progress)
	})
}

// HeldError says that Down changed nothing, since Holder still leads Scope.
type HeldError struct{ Scope, Holder string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s still leads %q: stop its process or drain the scope first", e.Holder, e.Scope)
}

// Down removes the schema except for the leaderships and their history, so that a later Up goes on
// from their epochs. It returns a *[HeldError] while any holder lives, or a *[BlockedError] while
// transactions use conch.leadership.
func Down(ctx context.Context, cfg Config, progress func(string)) error {
	return pg.With(ctx, cfg.Connection(" admin"), func(conn *pgx.Conn) error { return migrate.Down(ctx, conn, progress, Tables) })
}

// refuseHeld keeps every candidate from leading until tx ends, if nobody leads.
func refuseHeld(ctx context.Context, tx pgx.Tx) error {
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
