package main

import (
	"context"
	"os"
	"time"
)

// awaitOrphan returns when the parent is another process than it was. It asks, since
// a signal at the parent's death would follow the parent's thread, and not all systems
// have one.
func awaitOrphan(ctx context.Context, parent int) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for os.Getppid() == parent {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
