package mtls

import (
	"bytes"
	"sync"
	"time"

	"github.com/conchhq/conch/transport"
)

const (
	// queueMost is how many messages wait for one peer.
	queueMost = 8192
	// frameCost is what a message counts besides its body: memory for the one who waits, work for the one who reads.
	frameCost = 256
	// smallBody is how large a body is at most for which an eighth of a queue more is kept free.
	smallBody = 4 << 10
	// outdatedAfter is how long a message waits. What is older was sent again by the machine that needs an answer.
	outdatedAfter = 5 * time.Second
)

// queue has what waits for one peer, in order. It is safe for concurrent use.
type queue struct {
	most  int           // bytes
	ready chan struct{} // has a token while somebody should look

	mu       sync.Mutex
	items    []waiting
	bytes    int
	outdated uint64 // how many have waited too long
}

type waiting struct {
	subject string
	body    []byte
	since   time.Time
}

func newQueue(most int) *queue { return &queue{most: most, ready: make(chan struct{}, 1)} }

// push adds a copy of a message, or returns transport.ErrFull.
func (q *queue) push(subject string, body []byte, now time.Time) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.full(len(body)) {
		q.expire(now)
	}
	if q.full(len(body)) {
		return transport.ErrFull
	}
	q.items = append(q.items, waiting{subject, bytes.Clone(body), now})
	q.bytes += len(body) + frameCost
	q.wake()
	return nil
}

// full reports whether there is no room for a body. One message has room in any case; and small ones have some beside the large: a line
// that sends as much as it may would keep the words of all others out, such as that a leader lives.
func (q *queue) full(body int) bool {
	most := q.most
	if body <= smallBody {
		most += q.most / 8
	}
	return len(q.items) >= queueMost || len(q.items) > 0 && q.bytes+body+frameCost > most
}

// pop appends frames to a packet until that is full, and returns how many.
func (q *queue) pop(packet []byte, now time.Time) (longer []byte, frames int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire(now)
	for frames < min(len(q.items), batchFrames) {
		next := q.items[frames]
		if frames > 0 && len(packet)+len(next.body) > fullBatch {
			break
		}
		packet = appendFrame(packet, next.subject, next.body)
		frames++
	}
	q.drop(frames)
	if len(q.items) > 0 {
		q.wake()
	}
	return packet, frames
}

// expire drops what has waited too long.
func (q *queue) expire(now time.Time) {
	old := 0
	for old < len(q.items) && now.Sub(q.items[old].since) > outdatedAfter {
		old++
	}
	q.drop(old)
	q.outdated += uint64(old)
}

// drop removes the first messages.
func (q *queue) drop(count int) {
	for i, item := range q.items[:count] {
		q.bytes -= len(item.body) + frameCost
		q.items[i] = waiting{} // so that the body can be collected
	}
	q.items = q.items[count:]
}

func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *queue) expired(now time.Time) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire(now)
	return q.outdated
}

// limit changes how many bytes may wait.
func (q *queue) limit(most int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.most = most
}
