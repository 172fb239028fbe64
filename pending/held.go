package pending

import (
	"errors"
	"fmt"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// heldError is why an intent is not signed for now, and nothing that waits behind it. It
// names the intent: somebody may want to cancel it.
type heldError struct {
	intent ID
	why    error
}

func (e *heldError) Error() string {
	id := e.intent
	return fmt.Sprintf("transaction %x-%x-%x-%x-%x: %v", id[:4], id[4:6], id[6:8], id[8:10], id[10:], e.why)
}

func (e *heldError) Unwrap() error { return e.why }

// A node may refuse an intent so often and for so long in words that nobody knows, and take
// another call at the same moment, before the intent is rejected in those words. It is asked
// once a block, or where none comes every Patience; on a chain with many blocks a second
// that would be a moment, and a node may be in part of its troubles for longer than that.
const (
	bearable    = 20
	bearableFor = 2 * time.Minute
)

// doubtful is the intent that was refused like that last, how often, and since when.
type doubtful struct {
	intent ID
	times  int
	since  fence.Instant
}

// hopeless counts that. No answer, and one about the node or about who asks, does not
// count: of these the intent cannot be to blame.
func (l *loop) hopeless(intent ID, why error) bool {
	if !errors.Is(why, chain.ErrUnclear) {
		return false
	}
	now := l.Clock()
	if l.doubtful.intent != intent {
		l.doubtful = doubtful{intent: intent, since: now}
	}
	l.doubtful.times++
	return l.doubtful.times >= bearable && now.Sub(l.doubtful.since) >= bearableFor
}
