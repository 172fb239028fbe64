package node

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/election"
)

// Pauses after a role that failed, before this node campaigns for it again.
const (
	restFirst = time.Second
	restMost  = time.Minute
	settled   = 10 * time.Second // a role that worked so long begins with the first again
)

// resigning makes a role that fails rest, longer each time: others may have more
// luck with it, and if nobody has, the scope does not change hands all the time.
func resigning(w Work, rest func(time.Duration)) Work {
	pause := restFirst // one term at a time runs the role
	return func(ctx context.Context, l election.Leadership) error {
		began := time.Now()
		err := w(ctx, l)
		own := ctx.Err() == nil || errors.Is(context.Cause(ctx), election.ErrResigned)
		if !own || time.Since(began) > settled {
			pause = restFirst
		}
		if own && err != nil {
			rest(pause)
			pause = min(2*pause, restMost)
		}
		return err
	}
}
