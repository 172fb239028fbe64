package pgstore

import (
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/pending"
)

// intake is where callers wait to have intents accepted: who comes while a statement
// is under way goes with the next, all in one commit.
type intake struct {
	mu      sync.Mutex
	waiting []*asked
	serving int // statements under way
}

// asked is one caller's intent and its answer.
type asked struct {
	in  pending.Intent
	err error
	got bool
	end chan struct{}
}

const (
	// maxStatements are the statements that may be under way at once, each more than one only
	// for a crowd: the fewer there are, the more callers share a commit.
	maxStatements = 3
	crowd         = 100
	// most is how many intents one statement takes.
	maxBatch = 500
	// maxWaiting is the queue: who comes then is told to come later.
	maxWaiting = 4 * maxBatch
	// patience is for one statement, which is more than one caller's.
	patience = 10 * time.Second
)

// queue takes a caller in, and tells whether there has to be one more clerk.
func (i *intake) queue(a *asked) (serve bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.waiting) >= maxWaiting {
		return false, pending.ErrBusy
	}
	i.waiting = append(i.waiting, a)
	if i.serving == maxStatements || i.serving > 0 && len(i.waiting) < crowd {
		return false, nil
	}
	i.serving++
	return true, nil
}

// leave takes out who has gone and was not served yet.
func (i *intake) leave(a *asked) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if at := slices.Index(i.waiting, a); at >= 0 {
		i.waiting = slices.Delete(i.waiting, at, at+1)
	}
}

// next are those who wait; with none the clerk's work has ended.
func (i *intake) next() []*asked {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := min(len(i.waiting), maxBatch)
	batch := i.waiting[:n:n]
	if i.waiting = i.waiting[n:]; n == 0 {
		i.waiting = nil
		i.serving--
	}
	return batch
}
