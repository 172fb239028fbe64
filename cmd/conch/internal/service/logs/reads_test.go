package logs

import (
	"context"
	"testing"
	"time"
)

// A reader that waits for the next entry holds up no node that ends: its successor finds the folder in use until then.
func TestAReaderDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	over, end := context.WithCancel(t.Context())
	end()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := &part{over: over}
	if r.grows(ctx, make(chan struct{})) || ctx.Err() != nil {
		t.Errorf("a node has ended, and a reader waits on: %v", ctx.Err())
	}
}
