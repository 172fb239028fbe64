package fence

import (
	"context"
	"time"
)

// Outlive derives a context that ends when the given time has passed after the end of ctx,
// or at end. It is for the last step of an act behind the fenced door: the resource refuses
// a commit that comes too late, while one that is cut off has an unknown outcome and costs
// its connection. Keep the time short: a handover waits for it.
func Outlive(ctx context.Context, by time.Duration) (longer context.Context, end func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(by, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() { unhook(); cancel() }
}
