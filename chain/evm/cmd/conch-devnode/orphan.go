package main

import (
	"context"
	"os"
	"time"
)

// awaitOrphan returns when the parent process has changed. It polls, since a parent-death signal
// follows the parent's thread, and not all systems have one.
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
