package step

import "sync"

// Inbox has the inputs that wait for a loop, in the order in which they came. It is safe for concurrent use.
type Inbox[I any] struct {
	ready Wake

	mu     sync.Mutex
	waits  []I
	closed bool
}

// NewInbox returns an inbox in which some inputs wait already.
func NewInbox[I any](first ...I) *Inbox[I] {
	b := &Inbox[I]{ready: NewWake()}
	for _, in := range first {
		b.Put(in)
	}
	return b
}

// Put puts an input where the loop takes it. It never waits. It is false if the inbox is closed, and the input dropped.
func (b *Inbox[I]) Put(in I) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.waits = append(b.waits, in)
	b.ready.Ring()
	return true
}

// Ready implements [Source].
func (b *Inbox[I]) Ready() <-chan struct{} { return b.ready }

// Take implements [Source].
func (b *Inbox[I]) Take() []I {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.waits
	b.waits = nil
	return all
}

// Close drops what is put from now on, and returns what waits.
func (b *Inbox[I]) Close() []I {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	return b.Take()
}
