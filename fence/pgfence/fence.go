package pgfence

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/fence"
)

// Querier is the part of a transaction that [Fence] uses. pgx.Tx and *pgx.Conn
// implement it.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// SQL is the statement that [Fence] sends. Its arguments are the scope, the epoch and the
// term of the token. Send it as the last statement before the COMMIT; a client that can
// pipeline sends both together.
//
// A transaction that consists of one plain INSERT may call the function there instead, as
// the only item of the FROM clause: INSERT … SELECT … FROM conch.fence($1, $2, $3). Then
// no row is inserted without the fence. Beside another table, or with a WHERE, Postgres
// may never call the function: the INSERT then adds no row, but a WITH clause that writes
// and the triggers of the statement still do, without a fence. An INSERT that waits for
// another transaction's key holds the fence meanwhile, and a successor waits for it too.
const SQL = `SELECT conch.fence($1, $2, $3)`

// CodeStale is the SQLSTATE with which the fence refuses a token.
const CodeStale = "CN001"

// Fence makes the transaction fail with fence.ErrStale unless the token is the current
// one, and keeps the token current until the transaction ends. Call it last before the
// commit and never inside a savepoint: a rollback to the savepoint drops the fence's lock.
// Above READ COMMITTED it fails with 40001 if the transaction's snapshot is too old to
// decide, and with 25006 in one that is READ ONLY: one that writes nothing needs no fence. [Transact] does the same and needs no
// extra round trip.
func Fence(ctx context.Context, tx Querier, t fence.Token) error {
	_, err := tx.Exec(ctx, SQL, t.Scope, t.Epoch, [16]byte(t.Term))
	return Stale(err)
}

// Queue adds [SQL] to a batch. Behind the statements of a transaction and before its end it costs no round trip.
// An error of the batch goes through [Stale].
func Queue(batch *pgx.Batch, t fence.Token) {
	batch.Queue(SQL, t.Scope, t.Epoch, [16]byte(t.Term))
}

// Stale wraps an error in fence.ErrStale if it contains a refusal of the fence, and returns
// other errors unchanged. It recognises the errors of every driver whose errors have a method
// SQLState, such as pgx and lib/pq, and of the frameworks on top of them.
func Stale(err error) error {
	if refused(err) {
		return fmt.Errorf("%w: %w", fence.ErrStale, err)
	}
	return err
}

// refused searches the whole tree of errors. errors.As would stop at the first that has an
// SQLSTATE, and that may be another error joined to the refusal, such as that of a rollback.
func refused(err error) bool {
	if one, ok := err.(interface{ SQLState() string }); ok && one.SQLState() == CodeStale {
		return true
	}
	switch outer := err.(type) { //nolint:errorlint // this is the walk
	case interface{ Unwrap() error }:
		return refused(outer.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(outer.Unwrap(), refused)
	default:
		return false
	}
}
