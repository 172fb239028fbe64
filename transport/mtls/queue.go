package mtls

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/transport"
)

const (
	// queueMost is how many messages wait for one peer.
	queueMost = 8192
	// frameCost is what a message counts besides its body: memory for the one who waits, work for the one who reads.
	frameCost = 256
	// outdatedAfter is how long a message waits. What is older was sent again by the machine that needs an answer.
	outdatedAfter = 5 * time.Second
)

// queue has what waits for one peer: of each subject in order, and of several subjects one message of each in turn. One that
// sends much, as a log whose entries are large, so holds up no other one's. It is safe for concurrent use.
type queue struct {
	most  int       // bytes
	ready step.Wake // has a token while somebody should look

	mu       sync.Mutex
	subjects map[string]*waiting // of which something waits
	turn     []string            // they
	count    int
	bytes    int
	outdated uint64 // how many have waited too long
}

// waiting is what waits of one subject, by age.
type waiting struct {
	items []item
	bytes int
}

type item struct {
	body  []byte
	since time.Time
}

func newQueue(most int) *queue {
	return &queue{most: most, ready: step.NewWake(), subjects: map[string]*waiting{}}
}

// push adds a copy of a message, or returns transport.ErrFull.
func (q *queue) push(subject string, body []byte, now time.Time) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.full(subject, len(body)) {
		q.expire(now)
	}
	if q.full(subject, len(body)) {
		return transport.ErrFull
	}
	of := q.subjects[subject]
	if of == nil {
		of = &waiting{}
		q.subjects[subject] = of
		q.turn = append(q.turn, subject)
	}
	of.items = append(of.items, item{bytes.Clone(body), now})
	of.bytes += len(body) + frameCost
	q.count, q.bytes = q.count+1, q.bytes+len(body)+frameCost
	q.ready.Ring()
	return nil
}

const (
	// spared is the part of the room that a subject has although others have filled it all. There are few subjects.
	spared = 16
	// small is the body of a beat, a vote or an answer. An eighth of the room more is for those: what is large of their own subject, as the
	// entries of a log, leaves none else.
	small = 4 << 10
)

// full reports whether there is no room for a body. One message of each subject has room in any case: the largest entry of a log has more bytes than the
// whole queue of a node that others come to, and would otherwise have to find it empty, which the traffic of another subject may prevent for long.
func (q *queue) full(subject string, body int) bool {
	own, most := q.subjects[subject], q.most
	if own == nil {
		own = &waiting{}
	}
	if body <= small {
		most += most / 8
	}
	return q.count >= queueMost && len(own.items) >= queueMost/spared ||
		len(own.items) > 0 && q.bytes+body+frameCost > most && own.bytes+body+frameCost > q.most/spared
}

// pop appends frames to a packet until that is full, and returns how many.
func (q *queue) pop(packet []byte, now time.Time) (longer []byte, frames int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire(now)
	for ; frames < batchFrames && len(q.turn) > 0; frames++ {
		subject := q.turn[0]
		next := q.subjects[subject].items[0]
		if frames > 0 && len(packet)+len(next.body) > fullBatch {
			break
		}
		packet = appendFrame(packet, subject, next.body)
		q.drop(subject, 1)
		if q.turn = q.turn[1:]; q.subjects[subject] != nil {
			q.turn = append(q.turn, subject)
		}
	}
	if len(q.turn) > 0 {
		q.ready.Ring()
	}
	return packet, frames
}

// expire drops what has waited too long.
func (q *queue) expire(now time.Time) {
	for subject, of := range q.subjects {
		old := 0
		for old < len(of.items) && now.Sub(of.items[old].since) > outdatedAfter {
			old++
		}
		q.drop(subject, old)
		q.outdated += uint64(old)
	}
	q.turn = slices.DeleteFunc(q.turn, func(subject string) bool { return q.subjects[subject] == nil })
}

// drop removes the first messages of a subject.
func (q *queue) drop(subject string, count int) {
	of := q.subjects[subject]
	for i, gone := range of.items[:count] {
		cost := len(gone.body) + frameCost
		of.bytes, q.bytes = of.bytes-cost, q.bytes-cost
		of.items[i] = item{} // so that the body can be collected
	}
	q.count -= count
	if of.items = of.items[count:]; len(of.items) == 0 {
		delete(q.subjects, subject)
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
