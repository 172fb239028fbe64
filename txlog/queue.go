package txlog

import "crypto/sha256"

// queue is the hash of what waits in a row: items come at its end and leave at its front. The hash of all that ever came, each with the hash of
// those before it, and the number of those that have not left say which these are: nobody finds another row with both, as long as nobody finds two
// texts with one SHA-256.
type queue struct {
	gone Hash   // of all that have left
	came Hash   // of all that have come
	n    uint64 // that are there
}

// newQueue returns one that all have left.
func newQueue(gone Hash) queue { return queue{gone: gone, came: gone} }

func (q *queue) add(item Hash)  { q.came, q.n = chained(q.came, item), q.n+1 }
func (q *queue) drop(item Hash) { q.gone, q.n = chained(q.gone, item), q.n-1 }

func chained(before, item Hash) Hash {
	var room [2 * sha256.Size]byte
	return sha256.Sum256(append(append(room[:0], before[:]...), item[:]...))
}

func (e *encoder) queue(q queue) {
	e.hash(q.came)
	e.number(q.n)
}
