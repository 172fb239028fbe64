package evm

import (
	"sync"
	"time"
)

// batchSize is the most calls in one request, as learned from what an endpoint refuses. Reads and sends
// have one each: providers limit them apart. It is safe for concurrent use.
type batchSize struct {
	mu     sync.Mutex
	most   int // 0: as configured
	shrunk time.Time
}

// forgetSize is after how long twice as many calls are tried again.
const forgetSize = 10 * time.Minute

// limit returns the most calls in one request, at most so many.
func (b *batchSize) limit(configured int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.most > 0 && time.Since(b.shrunk) > forgetSize {
		b.most, b.shrunk = 2*b.most, time.Now()
	}
	if b.most == 0 || b.most >= configured {
		b.most = 0
		return configured
	}
	return b.most
}

// shrink notes that a request of so many calls was refused for its size. It reports whether a smaller one
// can be made.
func (b *batchSize) shrink(calls int) bool {
	if calls <= 1 {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.most, b.shrunk = calls/2, time.Now()
	return true
}
