package fence

import (
	"context"
	"time"
)

// Outlive derives a context that ends only so long after ctx does, or when end is
// called. It is for the last step of an act behind the fenced door: a commit that is cut
// off when the gate is shut leaves open whether it happened, and takes its connection
// with it; one that comes too late is refused by the resource. Keep it short: a leader
// that steps down waits for its acts.
func Outlive(ctx context.Context, by time.Duration) (longer context.Context, end func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(by, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() { unhook(); cancel() }
}
