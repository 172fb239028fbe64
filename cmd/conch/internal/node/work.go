package node

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/backoff"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// Pauses after a role that failed, before this node campaigns for it again.
const (
	restFirst = time.Second
	restMost  = time.Minute
)

// resigning makes a role that fails rest, longer each time: others may have more
// luck with it, and if nobody has, the scope does not change hands all the time. A role that
// ended because no heartbeat came in time has not failed.
func resigning(w Work, rest func(time.Duration)) Work {
	rests := backoff.Pauses{First: restFirst, Most: restMost} // one term at a time runs the role
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
