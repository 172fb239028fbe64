package pgstore

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/fence/pgfence"
)

var (
	// ErrTaken means that another entry is at the index of an append, or that one before it is missing: somebody else has
	// written to the log, or the node leads under a token that it has led under before. The leadership is over.
	ErrTaken = errors.New("the log goes on otherwise than this leader knows")
	// ErrScope means that the log is not that of the token's scope in this database, or that there is no such log.
	ErrScope = errors.New("the scope does not lead this log")
	// ErrSpent means that a term of the log is not below the token's epoch: each token leads once.
	ErrSpent = errors.New("the log has an entry of this term or a later one")
	// ErrForked means that the database has another history than the one that this node was told: entries that were committed
	// are missing, or are others. It was restored, or a standby without them was promoted. The node never rewinds.
	ErrForked = errors.New("the database has lost or changed entries that were committed")
	// ErrDamaged means that a row does not have what it had when it was written.
	ErrDamaged = errors.New("an entry in the database is damaged")
	// ErrStandby means that the server is a standby.
	ErrStandby = errors.New("the server is a standby")
	// ErrReplaced means that the node was told to lead under another token meanwhile.
	ErrReplaced = errors.New("the node leads under another token")
	// ErrStopped means that the authority does not run, or runs no more.
	ErrStopped = errors.New("the authority has stopped")
)

// SQLSTATEs of the tables of the log; docs/operations.md has all of conch's.
const (
	codeTaken   = "CN031"
	codeScope   = "CN032"
	codeStandby = "CN033"
	// codeUnique is raised when a row is there that conch.log does not know of.
	codeUnique = "23505"
)

// translate turns refusals of the database into errors of this package and of fence. Every other error of a write leaves
// its outcome unknown.
func translate(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Code {
	case pgfence.CodeStale:
		return pgfence.Stale(err)
	case codeTaken, codeUnique:
		return fmt.Errorf("%w: %s", ErrTaken, refused.Message)
	case codeScope:
		return fmt.Errorf("%w: %s: %s", ErrScope, refused.Message, refused.Detail)
	case codeStandby:
		return fmt.Errorf("%w: %s", ErrStandby, refused.Message)
	}
	return err
}
