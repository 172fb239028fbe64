package pgstore

import (
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/pending"
)

// intake gathers the intents of callers that come while a statement is under way. The next
// statement stores them in one commit.
type intake struct {
	mu      sync.Mutex
	waiting []*request
	serving int // goroutines that store, each with a statement under way
}

// request is one caller's intent, and the answer once done is closed.
type request struct {
	in     pending.Intent // the caller's; if stored is set, the one stored under its key
	take   Reservation    // of a caller with a policy
	stored bool
	err    error
	done   chan struct{}
}

const (
	// maxStatements limits the statements under way. Each one after the first needs a crowd: the
	// fewer there are, the more callers share a commit.
	maxStatements = 3
	crowd         = 100
	// maxBatch limits the intents in one statement.
	maxBatch = 500
	// maxWaiting limits the callers that wait; further ones get ErrBusy.
	maxWaiting = 4 * maxBatch
	// statementTimeout limits one statement, which serves many callers.
	statementTimeout = 10 * time.Second
)

// queue adds a caller, and reports whether one more goroutine has to serve.
func (i *intake) queue(r *request) (serve bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.waiting) >= maxWaiting {
		return false, pending.ErrBusy
	}
	i.waiting = append(i.waiting, r)
	if i.serving == maxStatements || i.serving > 0 && len(i.waiting) < crowd {
		return false, nil
	}
	i.serving++
	return true, nil
}

// leave removes a caller that has given up and is not being served yet.
func (i *intake) leave(r *request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if at := slices.Index(i.waiting, r); at >= 0 {
		i.waiting = slices.Delete(i.waiting, at, at+1)
	}
}

// next returns the next batch. If it is empty, the goroutine that serves must end.
func (i *intake) next() []*request {
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
