// Package links has what a transport.Roamer says until its user reads it.
package links

import (
	"slices"
	"sync"

	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/transport"
)

// mostUnread is how many links wait for a reader in full.
const mostUnread = 1024

// Log has those of a Roamer, which adds Up and Down of each peer by turns. It is safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	entries []logged
	changed step.Wake
}

type logged struct {
	transport.Link

	asked bool
}

// New returns an empty log.
func New() *Log { return &Log{changed: step.NewWake()} }

// Add notes what became of a connection. It is asked if it answers a Connect of the user.
//
// Peers may come and go while nobody reads. Over 1,024 entries, one that has come unasked and is gone again is left out;
// so there are never more than these, two for each peer that the user has heard of or asked for, and one for each that is
// connected.
func (l *Log) Add(link transport.Link, asked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) >= mostUnread && !link.Up {
		if last := l.last(link.Peer); last >= 0 {
			was := l.entries[last]
			l.entries = slices.Delete(l.entries, last, last+1)
			if was.Up && !was.asked { // an end that was not read stays one
				return
			}
			asked = asked || was.asked
		}
	}
	l.entries = append(l.entries, logged{link, asked})
	l.changed.Ring()
}

// last finds the newest entry of a peer, or returns -1.
func (l *Log) last(peer string) int {
	for i, e := range slices.Backward(l.entries) {
		if e.Peer == peer {
			return i
		}
	}
	return -1
}

// Forget removes what was not read of a peer: the user has ended the connection.
func (l *Log) Forget(peer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = slices.DeleteFunc(l.entries, func(e logged) bool { return e.Peer == peer })
}

// Changed has a value when Links has something.
func (l *Log) Changed() <-chan struct{} { return l.changed }

// Links returns what was not read, in order.
func (l *Log) Links() []transport.Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []transport.Link
	for _, e := range l.entries {
		all = append(all, e.Link)
	}
	l.entries = nil
	return all
}
