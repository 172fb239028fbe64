package pgstore

import (
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/pending"
)

// desk is where callers wait to have intents accepted: who comes while a statement
// is under way goes with the next, all in one commit.
type desk struct {
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
	// clerks are the statements that may be under way at once, each more than one only
	// for a crowd: the fewer there are, the more callers share a commit.
	clerks = 3
	crowd  = 100
	// most is how many intents one statement takes.
	most = 500
	// longest is the queue: who comes then is told to come later.
	longest = 4 * most
	// patience is for one statement, which is more than one caller's.
	patience = 10 * time.Second
)

// queue takes a caller in, and tells whether there has to be one more clerk.
func (d *desk) queue(a *asked) (serve bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) >= longest {
		return false, pending.ErrBusy
	}
	d.waiting = append(d.waiting, a)
	if d.serving == clerks || d.serving > 0 && len(d.waiting) < crowd {
		return false, nil
	}
	d.serving++
	return true, nil
}

// leave takes out who has gone and was not served yet.
func (d *desk) leave(a *asked) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := slices.Index(d.waiting, a); at >= 0 {
		d.waiting = slices.Delete(d.waiting, at, at+1)
	}
}

// next are those who wait; with none the clerk's work has ended.
func (d *desk) next() []*asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(len(d.waiting), most)
	batch := d.waiting[:n:n]
	if d.waiting = d.waiting[n:]; n == 0 {
		d.waiting = nil
		d.serving--
	}
	return batch
}
