package schedule

import (
	"context"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

// Trimmer is a [Store] that deletes rows which are of use to nobody any more: jobs that have ended, and what is known of scheduled times.
type Trimmer interface {
	// Trim deletes some rows from before an instant, and nothing from after the database's clock: of jobs those whose ids come next after one. The error
	// wraps [fence.ErrStale] if the token is over: then nothing is deleted.
	Trim(ctx context.Context, t fence.Token, before time.Time, after int64) (Trimmed, error)
}

// Trimmed is what one transaction has deleted.
type Trimmed struct {
	Jobs   int   // with their attempts
	Runs   int   // rows of scheduled times
	Others int   // gaps, definitions that others have replaced, and operations
	Next   int64 // the id to go on after
	More   bool  // there may be more
}

const (
	trimEvery = 10 * time.Minute
	trimFirst = time.Minute            // after a term has begun, and after a failure
	trimLull  = 100 * time.Millisecond // between two transactions
)

// trim deletes old rows, a little at a time, until ctx ends. What fails is tried again: nothing depends on it.
func (t *term) trim(ctx context.Context) {
	store, can := t.store.(Trimmer)
	if !can {
		return
	}
	rest, done := trimFirst, Trimmed{}
	for pause.For(ctx, rest) == nil {
		err := t.gate.Do(ctx, fence.Fenced, 0, func(ctx context.Context, now fence.Token) (err error) {
			if now.Term != t.token.Term {
				return fence.ErrStale
			}
			done, err = store.Trim(ctx, now, time.Now().Add(-t.cfg.Keep), done.Next)
			return err
		})
		switch rest = trimEvery; {
		case err != nil:
			rest = trimFirst
		case done.More:
			rest = trimLull
		}
	}
}
