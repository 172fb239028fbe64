package pgstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
)

// Slot is one call of a command that several machines call at the same times, and that one of them is to run.
type Slot struct {
	Call   [16]byte      // the call's own id; see [NewCall]
	Length time.Duration // shorter than the shortest time between two calls of one machine, by less than a tenth
	Waited time.Duration // since the call was made: one that had to wait does not push the next slot
	Again  bool          // take a slot once more whose command has failed or was cut off
}

// NewCall returns the id of another call.
func NewCall() (id [16]byte) {
	_, _ = rand.Read(id[:]) // never fails since Go 1.24
	return id
}

// Turn is what came of a call.
type Turn struct {
	Taken bool // run the command
	Last  Run  // the try before; zero if there is none
}

// Run is a try at a slot.
type Run struct {
	Holder string
	Began  time.Time
	Ended  time.Time // zero: it goes on, or it was cut off
	Code   int       // the exit code, once it has ended
}

// CutOff reports whether a run has begun and not ended. Once its scope is led by another, it never will.
func (r Run) CutOff() bool { return !r.Began.IsZero() && r.Ended.IsZero() }

// BeginSlot takes a slot, if the last one that was taken for the scope of the token began at least nine tenths of a slot ago by the database's
// clock. The error wraps [fence.ErrStale] if the token is over: then nothing is taken. After any other error the slot may be taken: the same call,
// also under a later token, then gets it. Never begin a call again whose command has run.
func (s *Store) BeginSlot(ctx context.Context, t fence.Token, slot Slot) (turn Turn, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(`SELECT * FROM conch.slot_begin($1, $2, $3, make_interval(secs => $4), make_interval(secs => $5), $6, $7)`,
		t.Scope, t.Epoch, t.Holder, slot.Length.Seconds(), slot.Waited.Seconds(), slot.Call, slot.Again).QueryRow(func(row pgx.Row) error {
		var holder *string
		var began, ended *time.Time
		var code *int
		if err := row.Scan(&turn.Taken, &holder, &began, &ended, &code); err != nil || holder == nil {
			return err
		}
		turn.Last = Run{Holder: *holder, Began: orZero(began), Ended: orZero(ended)}
		if code != nil {
			turn.Last.Code = *code
		}
		return nil
	})
	pgfence.Queue(&batch, t)
	err = translate(s.pools.Commit(ctx, &batch))
	if refused, is := errors.AsType[*pgconn.PgError](err); is && refused.Code == undefinedFunction {
		err = cmp.Or(s.Check(ctx), err)
	}
	if err != nil {
		return Turn{}, err
	}
	return turn, nil
}

const undefinedFunction = "42883"

// EndSlot notes how the command of a call has ended.
func (s *Store) EndSlot(ctx context.Context, t fence.Token, call [16]byte, code int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(`SELECT conch.slot_end($1, $2, $3)`, t.Scope, call, code)
	pgfence.Queue(&batch, t)
	return translate(s.pools.Commit(ctx, &batch))
}

// LastSlot is the last slot of a scope that was taken.
type LastSlot struct {
	Run
	Scope  string
	Epoch  int64 // of the leader that has taken it
	Length time.Duration
}

// Slots lists the last slot of one scope or, if that is empty, of each.
func (s *Store) Slots(ctx context.Context, scope string) ([]LastSlot, error) {
	rows, err := s.pools.Readers.Query(ctx, `
		SELECT scope, epoch, extract(epoch FROM length)::float8, holder, began_at, ended_at, code FROM conch.slots WHERE $1 = '' OR scope = $1 ORDER BY scope`, scope)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (l LastSlot, err error) {
		var length float64
		var ended *time.Time
		var code *int
		err = row.Scan(&l.Scope, &l.Epoch, &length, &l.Holder, &l.Began, &ended, &code)
		if code != nil {
			l.Code = *code
		}
		l.Length, l.Began, l.Ended = span(length), l.Began.UTC(), orZero(ended)
		return l, err
	})
}
