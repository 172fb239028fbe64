package pgstore

import (
	"context"
	"errors"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/pending"
)

// AcceptAll stores all of some intents, at most 500 and each with a key of its own, or none, and returns them in their order: that of a known
// key as it is stored. takes has what each of them takes, as in [Store.AcceptWithin]; what they need of a limit together is taken together.
// The error is a [*pending.PlaceError] if one of them is refused. After any other error all or none may have been stored: to ask again
// answers the same.
func (s *Store) AcceptAll(ctx context.Context, all []pending.Intent, takes []Reservation) (out []pending.Intent, err error) {
	for range mostTries {
		out, err = s.acceptAll(ctx, all, takes)
		if code := pg.Code(err); code != codeKeyUsed && code != codeDeadlock && !errors.Is(err, errKeyUnseen) {
			return out, err
		}
	}
	return nil, pending.ErrBusy
}

// codeDeadlock is that of a statement which has waited for one that waits for it: for instance for keys that another batch has in another order.
const codeDeadlock = "40P01"

// errKeyUnseen means that an intent with one of the keys was committed after the statement began.
var errKeyUnseen = errors.New("the intent with a key is not seen yet")

func (s *Store) acceptAll(ctx context.Context, all []pending.Intent, takes []Reservation) ([]pending.Intent, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	batch := make([]*request, len(all))
	for i, in := range all {
		in.ID = newID(time.Now())
		batch[i] = &request{in: in, take: takes[i]}
	}
	sql, arguments := s.inserts(batch)
	said := answers{creator: s.cfg.Creator}
	err := s.db.pools.Writers.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		return pg.Confirmed(conn.Conn(), func() error {
			return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				var write pgx.Batch
				write.Queue(pg.Durable)
				write.Queue(sql, arguments...).Query(said.read)
				if err := tx.SendBatch(ctx, &write).Close(); err != nil {
					return err
				}
				said.give(batch)
				return refusalOf(batch, all, said)
			})
		})
	})
	if err != nil {
		return nil, err
	}
	out := make([]pending.Intent, len(batch))
	for i, r := range batch {
		out[i] = r.in
	}
	if len(said.known) > 0 {
		err = s.confirm(ctx)
	}
	return out, err
}

// refusalOf returns why a batch is not to be committed, nil if all of it is stored.
func refusalOf(batch []*request, asked []pending.Intent, said answers) error {
	for _, r := range batch {
		if !r.stored && r.err == nil {
			return errKeyUnseen
		}
	}
	for i, r := range batch {
		over, is := errors.AsType[*LimitError](r.err)
		switch {
		case is:
			over.Spent.Sub(over.Spent, needed(batch[:i], said, over.What)) // nothing of the batch is stored
			if over.Batch = needed(batch, said, over.What); over.Batch.Cmp(over.Most) > 0 {
				over.Again = time.Time{} // it never fits
			}
			return &pending.PlaceError{Place: i, Err: over}
		case r.err != nil:
			return &pending.PlaceError{Place: i, Err: r.err}
		case !r.in.Asks(asked[i]):
			return &pending.PlaceError{Place: i, Err: pending.ErrConflict}
		}
	}
	return nil
}

// needed returns what those of a batch that are new need together.
func needed(batch []*request, said answers, what string) *big.Int {
	sum := new(big.Int)
	for _, r := range batch {
		if _, isNew := said.fresh[r.in.ID]; !isNew && r.err == nil {
			continue // its key was known
		}
		for _, one := range r.take.Takes {
			if one.What == what {
				sum.Add(sum, one.Amount)
			}
		}
	}
	return sum
}
