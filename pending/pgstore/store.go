package pgstore

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/pending"
)

type config struct{ Chain, Creator string }

// Store keeps the pending transactions of one chain. It is a [pending.Store] and a
// [pending.Archiver], and safe for concurrent use.
type Store struct {
	db     *Database
	cfg    config
	pool   querier // the leader's connections
	intake intake
}

var _ pending.Store = (*Store)(nil)

// ErrTaken means that the account belongs to another scope, which alone may send from it.
var ErrTaken = errors.New("the account belongs to another scope")

// SQLSTATEs of the tables of pending transactions; docs/operations.md has all of conch's.
const (
	codeTaken     = "CN011" // the account belongs to another scope
	codeOvertaken = "CN013" // an intent that was to get a slot is in the archive
	codeKeyUsed   = "CN014" // the key of an intent with a reservation was used while it was being stored
	codeNoLife    = "CN015" // a life of an account is not the one that comes next
)

// translate turns refusals of the database into errors of pending and fence.
func translate(err error) error {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Code {
	case pgfence.CodeStale:
		return pgfence.Stale(err)
	case "23514":
		if refused.ConstraintName == "intents_fate_check" {
			return fmt.Errorf("%w: %s", pending.ErrOvertaken, refused.Message)
		}
	case codeTaken:
		return fmt.Errorf("%w: %s", ErrTaken, refused.Message)
	case codeNoLife:
		return fmt.Errorf("%w: %s", pending.ErrNoLife, refused.Message)
	case codeOvertaken:
		return fmt.Errorf("%w: %s", pending.ErrOvertaken, refused.Message)
	}
	return err
}
