package pending

import (
	"sync"
	"sync/atomic"

	"github.com/conchhq/conch/fence"
)

// Sequence numbers the writes of one process ([Batch.Number]) and remembers the term in which it
// last worked on each scope. The zero value is ready for use, and safe for concurrent use.
//
// Managers that lead in the same term, one after the other, must share a Sequence: a store ignores
// writes with lower numbers than those it has seen in that term.
type Sequence struct {
	number atomic.Uint64
	mu     sync.Mutex
	begun  map[string]fence.Term // the term of the last begin, by scope
}

func (s *Sequence) next() uint64 { return s.number.Add(1) }

// begin notes that work begins under a token, and reports whether it did before in the same term.
// Then the database may still carry out an earlier write, which only a later term would fence.
func (s *Sequence) begin(t fence.Token) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	term, known := s.begun[t.Scope]
	if s.begun == nil {
		s.begun = map[string]fence.Term{}
	}
	s.begun[t.Scope] = t.Term
	return known && term == t.Term
}
