package node

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/backoff"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// Pauses after a failed term, before this node campaigns for the role again.
const (
	restFirst = time.Second
	restMost  = time.Minute
)

// resigning pauses the campaign for a role after each failure, longer each time: another node
// may succeed, and if none does, the scope does not change hands all the time. A role that
// ended because its gate was late has not failed.
func resigning(w Work, rest func(time.Duration)) Work {
	rests := backoff.Pauses{First: restFirst, Most: restMost} // needs no lock: one term at a time
	return func(ctx context.Context, l election.Leadership) error {
		began := time.Now()
		err := w(ctx, l)
		own := ctx.Err() == nil || errors.Is(context.Cause(ctx), election.ErrResigned)
		if own && err != nil && !errors.Is(err, fence.ErrLate) {
			rest(rests.After(time.Since(began)))
		} else {
			rests.Reset()
		}
		return err
	}
}
