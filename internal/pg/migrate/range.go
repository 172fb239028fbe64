package migrate

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Range is the versions of some tables that a program knows. Tables of version N work with programs
// N and N − 1, so it also works with Max + 1.
type Range struct {
	Min, Max int
	Missing  string // what the database lacks without them: "tables for pending transactions"
	Present  string // the beginning of a sentence: "the tables of pending transactions are"
}

// Fits reports whether the program works with tables of a version. Version 0 means none.
func (r Range) Fits(version int) bool { return version >= r.Min && version <= r.Max+1 }

// Refusal says what to do about a version that does not fit.
func (r Range) Refusal(version int) string {
	switch {
	case version == 0:
		return fmt.Sprintf("the database has no %s: run `conch migrate up`", r.Missing)
	case version < r.Min:
		return fmt.Sprintf("%s at version %d, this program needs %d: run `conch migrate up`", r.Present, version, r.Min)
	}
	return fmt.Sprintf("%s at version %d, this program knows up to %d: upgrade the program", r.Present, version, r.Max)
}

// LockUnused locks tables in the transaction that removes them, in the order that is given, unless inUse returns an error.
func LockUnused(ctx context.Context, tx pgx.Tx, tables string, inUse func(context.Context, pgx.Tx) error) error {
	// Ask before locking too: while this waits for a lock, all who write wait behind it.
	if err := inUse(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `LOCK TABLE `+tables+` IN ACCESS EXCLUSIVE MODE`); err != nil {
		return err
	}
	return inUse(ctx, tx)
}
