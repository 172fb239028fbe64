package fence

import (
	"context"
	"time"
)

// Outlive derives a context that ends when the given time has passed after the end of
// ctx, or when end is called. It is for the last step of an act behind the fenced door: a
// commit that is cut off when the gate shuts has an unknown outcome and costs its
// connection, while the resource refuses a commit that comes too late. Keep the time
// short: a leader that gives its leadership up waits for its acts.
func Outlive(ctx context.Context, by time.Duration) (longer context.Context, end func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(by, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() { unhook(); cancel() }
}
