package migrate

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
)

// Tables are those of a wing. Wings do not depend on each other's versions.
type Tables struct {
	Wing    string // the election's table is conch.schema_version, any other's conch.WING_schema_version
	Files   fs.FS  // of a folder that a package embeds
	Oldest  int    // version that this program works with
	Missing string // what the database lacks without them: "tables for pending transactions"
	Present string // the beginning of a sentence: "the tables of pending transactions are"
	Guard   Guard
}

// Guard is asked in the transaction that removes tables, if they are there: an error forbids it, nil allows it.
type Guard func(context.Context, pgx.Tx) error

// Newest is the newest version that this program knows, that of its last migration.
func (t Tables) Newest() int {
	names, _ := fs.Glob(t.Files, "*.up.sql") // the pattern is valid
	return len(names)
}

// Check returns a [*VersionError] if this program cannot work with the tables. Tables of version N work with programs N and N − 1, so a
// program works with one version more than it knows.
func (t Tables) Check(ctx context.Context, q querier) error {
	version, err := t.Version(ctx, q)
	if err == nil && (version < t.Oldest || version > t.Newest()+1) {
		err = &VersionError{Tables: t, Version: version}
	}
	return err
}

// VersionError reports that a program cannot work with tables of a version, 0 if there are none.
type VersionError struct {
	Tables  Tables
	Version int
}

func (e *VersionError) Error() string {
	switch {
	case e.Version == 0:
		return fmt.Sprintf("the database has no %s: run `conch migrate up`", e.Tables.Missing)
	case e.Version < e.Tables.Oldest:
		return fmt.Sprintf("%s at version %d, this program needs %d: run `conch migrate up`", e.Tables.Present, e.Version, e.Tables.Oldest)
	}
	return fmt.Sprintf("%s at version %d, this program knows up to %d: upgrade the program", e.Tables.Present, e.Version, e.Tables.Newest())
}

// Unfinished guards tables by a query of two counts of unfinished work, of which a sentence says what to do. Without such work it locks the
// tables in the order that is given, which is that in which a write takes them.
func Unfinished(tables, counts, sentence string) Guard {
	ask := func(ctx context.Context, tx pgx.Tx) error {
		e := OpenError{sentence: sentence}
		err := tx.QueryRow(ctx, counts).Scan(&e.Open[0], &e.Open[1])
		if err == nil && e.Open != [2]int{} {
			return &e
		}
		return err
	}
	return func(ctx context.Context, tx pgx.Tx) error {
		// Ask before locking too: while this waits for a lock, all who write wait behind it.
		if err := ask(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `LOCK TABLE `+tables+` IN ACCESS EXCLUSIVE MODE`); err != nil {
			return err
		}
		return ask(ctx, tx)
	}
}

// OpenError reports that tables cannot be removed, because work is unfinished.
type OpenError struct {
	Open     [2]int // of each kind
	sentence string
}

func (e *OpenError) Error() string { return fmt.Sprintf(e.sentence, e.Open[0], e.Open[1]) }
