package pgfence

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/fence"
)

// Querier is what Fence needs of a transaction: pgx.Tx and *pgx.Conn have it.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// SQL is the statement that Fence sends, for clients that pipeline it with
// COMMIT; its arguments are the scope, the epoch and the term of the token. A plain
// INSERT that is all of a transaction may have the function as the one thing in its FROM
// instead: INSERT … SELECT … FROM conch.fence($1, $2, $3). Then no row goes in without it.
// Beside another table, or with a WHERE, it may never be called: no row is written then by
// this statement, but by a WITH of it that writes, or by its triggers. And an INSERT that
// waits for another's key holds the fence meanwhile, for which a successor waits too.
const SQL = `SELECT conch.fence($1, $2, $3)`

// CodeStale is the SQLSTATE with which the fence refuses a token.
const CodeStale = "CN001"

// Fence makes the transaction fail with fence.ErrStale unless the token is the
// current one, and keeps it current until the transaction ends. Above READ COMMITTED it
// answers 40001 where the transaction's snapshot is too old to tell, and needs a transaction
// that may write (25006). Call it last
// before the commit, never inside a savepoint. Transact does that, and without a round
// trip of its own.
func Fence(ctx context.Context, tx Querier, t fence.Token) error {
	_, err := tx.Exec(ctx, SQL, t.Scope, t.Epoch, [16]byte(t.Term))
	return Stale(err)
}

// Stale turns the fence's refusal into fence.ErrStale, wherever in a pipeline it surfaced and
// whichever driver reports it: the errors of pgx and of lib/pq, and of what is built on them,
// answer SQLState. Other errors pass unchanged.
func Stale(err error) error {
	if refused(err) {
		return fmt.Errorf("%w: %w", fence.ErrStale, err)
	}
	return err
}

// refused looks at every error of the tree: errors.As ends at the first that has an SQLSTATE, and
// another one may be joined to the refusal, such as that of a rollback.
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
