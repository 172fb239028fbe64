package nodeapi

import (
	"context"
	"time"

	"github.com/conchhq/conch/internal/pause"
)

const (
	answerMost = 2 * time.Second // before another node is asked
	askAgain   = 20 * time.Millisecond
	// Of every oddEvery requests, the one numbered hangsUp is broken off at once and repeated elsewhere, which a kill provokes only by
	// chance; and the customer of the one numbered doubts asks a second node, after the first has answered.
	oddEvery  = 10
	hangsUp   = 4
	doubts    = 9
	hastyMost = time.Millisecond
)

// Doubted reports whether the nth request is made of a second node.
func Doubted(n int) bool { return n%oddEvery == doubts }

// Insist makes the nth request of one node after the other until one has answered, or two if the customer doubts. One asks a node, and
// says whether it has answered, and whether there is nothing to ask for any more.
func Insist(trying context.Context, n int, one func(ctx context.Context, try int) (done, final bool)) {
	missing := 1
	if Doubted(n) {
		missing = 2
	}
	for try := 0; missing > 0 && trying.Err() == nil; try++ {
		patience := answerMost
		if try == 0 && n%oddEvery == hangsUp {
			patience = hastyMost
		}
		ctx, cancel := context.WithTimeout(trying, patience)
		done, final := one(ctx, try)
		cancel()
		switch {
		case final:
			return
		case done:
			missing--
		default:
			_ = pause.For(trying, askAgain)
		}
	}
}
