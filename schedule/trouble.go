package schedule

import (
	"context"
	"errors"
	"sync"

	"github.com/conchhq/conch/fence"
)

// Trouble says that the store does not do what it is asked to, or, without a Why, that it does so again. It is asked again and again, and
// until then times get no row, jobs are not taken, or the end of a job is not written.
type Trouble struct {
	Scope string // of the leader or the post
	What  string // what is asked: one of "read crons", "write runs", "take jobs", "look at jobs" and "end jobs"
	Why   error  // nil: it answers again
}

// What is asked of a store.
const (
	readCrons = "read crons"
	writeRuns = "write runs"
	takeJobs  = "take jobs"
	lookAt    = "look at jobs"
	endJobs   = "end jobs"
)

// troubles tells of the store's failures of one term: when one begins, when its reason becomes another, and when it has ended.
type troubles struct {
	scope string
	tell  func(Event)

	mu  sync.Mutex
	why map[string]string // by what was asked
}

func newTroubles(scope string, tell func(Event)) *troubles {
	return &troubles{scope: scope, tell: tell, why: map[string]string{}}
}

// note notes what has become of something asked. That the leadership is over, or its gate is shut, is no fault of the store's.
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
	t.tell(Trouble{Scope: t.scope, What: what, Why: err})
}
