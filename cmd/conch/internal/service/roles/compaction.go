package roles

import (
	"context"
	"log/slog"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

const (
	compactEvery = time.Hour
	compactFirst = time.Second            // after a term has begun
	compactAgain = 10 * time.Second       // after a failure: a transaction that takes longer than the gate is open has one
	compactLull  = 200 * time.Millisecond // between two transactions
)

// compact deletes rows of the history that are older than that, a little at a time, and requests to leaders that have ended.
func (s *service) compact(door fence.Door, keep time.Duration) node.Work {
	return func(ctx context.Context, l election.Leadership) error {
		for rest := compactFirst; pause.For(ctx, rest) == nil; {
			rest = compactEvery
			if err := s.compactOnce(ctx, door, l.Gate, keep); err != nil && ctx.Err() == nil {
				rest = compactAgain
				s.frame.Log.Warn("the history could not be compacted, and it is tried again", slog.Any("error", err))
			}
		}
		return nil
	}
}

func (s *service) compactOnce(ctx context.Context, door fence.Door, gate *fence.Gate, keep time.Duration) error {
	t, err := pgops.OpenTrimmer(ctx, *s.frame.Database)
	if err != nil {
		return err
	}
	defer t.Close()
	before := time.Now().Add(-keep)
	for after, more := int64(0), true; more; {
		err := gate.Do(ctx, door, 0, func(ctx context.Context, token fence.Token) (err error) {
			after, more, err = t.Trim(ctx, token, before, after)
			return err
		})
		if err != nil {
			return err
		}
		if pause.For(ctx, compactLull) != nil {
			return nil
		}
	}
	return nil
}
