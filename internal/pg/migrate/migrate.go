package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/pg"
)

// Progress receives one line per migration. It may be nil.
type Progress func(line string)

func (p Progress) sayf(format string, args ...any) {
	if p != nil {
		p(fmt.Sprintf(format, args...))
	}
}

// of puts the wing in front of each line.
func (p Progress) of(t Tables) Progress {
	if p == nil {
		return nil
	}
	return func(line string) { p(t.Wing + ": " + line) }
}

func (t Tables) record() string {
	if t.Wing == "election" {
		return "conch.schema_version"
	}
	return "conch." + t.Wing + "_schema_version"
}

// Up applies the missing migrations, and tells progress of each.
func (t Tables) Up(ctx context.Context, conn *pgx.Conn, progress Progress) error {
	steps, err := load(t.Files)
	if err != nil {
		return err
	}
	progress = progress.of(t)
	for {
		next, err := t.upOne(ctx, conn, steps, progress)
		if err != nil || next == nil {
			return err
		}
		progress.sayf("applied %s", next)
	}
}

// upOne applies the first missing migration and returns it, or nil if none is missing.
func (t Tables) upOne(ctx context.Context, conn *pgx.Conn, steps []step, progress Progress) (next *step, err error) {
	err = locked(ctx, conn, progress, func(tx pgx.Tx) error {
		if err := t.prepare(ctx, tx); err != nil {
			return err
		}
		applied, err := t.records(ctx, tx)
		if err != nil {
			return err
		}
		if err := checked(steps, applied); err != nil {
			return err
		}
		next = missing(steps, applied)
		if next == nil {
			return nil
		}
		if _, err := tx.Exec(ctx, next.up); err != nil {
			return fmt.Errorf("migration %s: %w", next, err)
		}
		_, err = tx.Exec(ctx, `INSERT INTO `+t.record()+` (version, name, checksum) VALUES ($1, $2, $3)`,
			next.version, next.name, next.checksum)
		return err
	})
	return next, err
}

func missing(steps []step, applied []record) *step {
	for i := range steps {
		if !slices.ContainsFunc(applied, func(done record) bool { return done.Version == steps[i].version }) {
			return &steps[i]
		}
	}
	return nil
}

// Down takes back the migrations of all tables or of none, in their order and within each the last migration first. It does not call the
// guard of tables that are not there.
func Down(ctx context.Context, conn *pgx.Conn, progress Progress, tables ...Tables) error {
	undone := make([][]step, len(tables))
	err := locked(ctx, conn, progress, func(tx pgx.Tx) (err error) {
		for i, t := range tables {
			if undone[i], err = t.takeBack(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, t := range tables {
		for _, one := range undone[i] {
			progress.of(t).sayf("took back %s", one)
		}
	}
	return nil
}

func (t Tables) takeBack(ctx context.Context, tx pgx.Tx) ([]step, error) {
	all, err := load(t.Files)
	if err != nil {
		return nil, err
	}
	applied, err := t.records(ctx, tx)
	if err != nil {
		return nil, err
	}
	steps, err := lastFirst(all, applied)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	if t.Guard != nil {
		if err := t.Guard(ctx, tx); err != nil {
			return nil, err
		}
	}
	for _, one := range steps {
		if _, err := tx.Exec(ctx, one.down); err != nil {
			return nil, fmt.Errorf("taking back %s: %w", one, err)
		}
		if _, err := tx.Exec(ctx, `DELETE FROM `+t.record()+` WHERE version = $1`, one.version); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// lastFirst lists the applied migrations, the last first.
func lastFirst(steps []step, applied []record) ([]step, error) {
	var list []step
	for _, done := range slices.Backward(applied) {
		if done.Version > len(steps) {
			return nil, fmt.Errorf("migration %04d_%s comes from a newer program: take it back with that one", done.Version, done.Name)
		}
		one := steps[done.Version-1]
		if one.down == "" {
			return nil, fmt.Errorf("migration %s has no way down", one)
		}
		list = append(list, one)
	}
	return list, nil
}

// A migration waits for each lock only briefly, since all later users of a table wait behind it, leaders
// too, and tries several times.
const (
	lockSlice = time.Second
	lockRest  = time.Second
	lockTries = 6
)

// locked runs work in a transaction that holds the migration lock and has our search_path:
// Postgres resolves the names in what a migration creates once and for all. It says whom it waits for.
func locked(ctx context.Context, conn *pgx.Conn, progress Progress, work func(pgx.Tx) error) error {
	for try := 1; ; try++ {
		err := tried(ctx, conn, work)
		if err == nil || !pg.SafeToRetry(err) || conn.IsClosed() { // a lock that was not had, or a deadlock
			return err
		}
		if locks, failed := pg.TableLocks(ctx, conn, true); failed == nil && len(locks) > 0 {
			err = &pg.LockedError{Locks: locks, Err: err}
		}
		if try == lockTries {
			return err
		}
		progress.sayf("waits: %s", pg.Sentence(err))
		if err := pause.For(ctx, lockRest); err != nil {
			return err
		}
	}
}

func tried(ctx context.Context, conn *pgx.Conn, work func(pgx.Tx) error) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `SELECT pg_catalog.set_config('lock_timeout', $1, true), pg_catalog.set_config('statement_timeout', '0', true)`,
		strconv.FormatInt(lockSlice.Milliseconds(), 10))
	if err == nil {
		_, err = tx.Exec(ctx, `SELECT pg_catalog.pg_advisory_xact_lock($1), pg_catalog.set_config('search_path', $2, true)`, pg.MigrationKey, pg.SearchPath)
	}
	if err == nil {
		err = work(tx)
	}
	if err == nil {
		return tx.Commit(ctx)
	}
	if rollback := tx.Rollback(ctx); rollback != nil && !errors.Is(rollback, pgx.ErrTxClosed) {
		return errors.Join(err, rollback)
	}
	return err
}
