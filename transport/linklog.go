package transport

import (
	"slices"
	"sync"

	"github.com/conchhq/conch/internal/step"
)

// mostUnread is how many links wait for a reader in full.
const mostUnread = 1024

// LinkLog has what a Roamer says until its user reads it. It is for those who write a Roamer: they add Up and Down of each
// peer by turns. It is safe for concurrent use.
type LinkLog struct {
	mu      sync.Mutex
	entries []logged
	changed step.Wake
}

type logged struct {
	Link
	asked bool
}

// NewLinkLog returns an empty log.
func NewLinkLog() *LinkLog { return &LinkLog{changed: step.NewWake()} }

// Add notes what became of a connection. It is asked if it answers a Connect of the user.
//
// Peers may come and go while nobody reads. Over 1,024 entries, one that has come unasked and is gone again is left out;
// so there are never more than these, two for each peer that the user has heard of or asked for, and one for each that is
// connected.
func (l *LinkLog) Add(link Link, asked bool) {
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
func (l *LinkLog) last(peer string) int {
	for i, e := range slices.Backward(l.entries) {
		if e.Peer == peer {
			return i
		}
	}
	return -1
}

// Forget removes what was not read of a peer: the user has ended the connection.
func (l *LinkLog) Forget(peer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = slices.DeleteFunc(l.entries, func(e logged) bool { return e.Peer == peer })
}

// Changed has a value when Links has something.
func (l *LinkLog) Changed() <-chan struct{} { return l.changed }

// Links returns what was not read, in order.
func (l *LinkLog) Links() []Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Link
	for _, e := range l.entries {
		all = append(all, e.Link)
	}
	l.entries = nil
	return all
}
