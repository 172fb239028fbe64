package alerts

import (
	"context"
	"errors"
	"sync"

	"github.com/conchhq/conch/fence"
)

// Trouble says that something cannot be done, or, without a Why, that it can again. It is tried again and again.
type Trouble struct {
	What string // one of "read rows", "write rows", "evaluate", "report", "claim", and "tell " with the name of a receiver
	Why  error  // nil: it can be done again
}

const (
	readRows  = "read rows"
	writeRows = "write rows"
	evaluate  = "evaluate"
	reports   = "report"
	claims    = "claim"
	tells     = "tell "
)

// troubles tells of failures: when one begins, when its reason becomes another, and when it has ended.
type troubles struct {
	notice func(Event)

	mu  sync.Mutex
	why map[string]string // by what was asked
}

func newTroubles(notice func(Event)) *troubles {
	return &troubles{notice: notice, why: map[string]string{}}
}

// note notes what has become of something. That the leadership is over, or its gate is shut, is nobody's fault.
func (t *troubles) note(what string, err error) {
	if errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrShut) || errors.Is(err, context.Canceled) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := ""
	if err != nil {
		now = err.Error()
	}
	if now == t.why[what] {
		return
	}
	t.why[what] = now
	t.notice(Trouble{What: what, Why: err})
}
