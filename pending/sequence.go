package pending

import (
	"sync"
	"sync/atomic"

	"github.com/conchhq/conch/fence"
)

// Sequence numbers the writes that one process makes, and remembers the term in which the
// process last worked on each scope. Its zero value is ready for use, and it is safe for
// concurrent use.
//
// A store ignores a write with a lower number than one it has already carried out in the
// same term. So Managers that lead the same scope in the same term, one after the other,
// must share a Sequence ([Config.Sequence]): one that began again at 1 would not be heard.
type Sequence struct {
	number atomic.Uint64
	mu     sync.Mutex
	begun  map[string]fence.Term // by scope
}

// next returns a number that is higher than any before.
func (s *Sequence) next() uint64 { return s.number.Add(1) }

// begin notes that work begins under a token, and reports whether it had already begun
// before in the same term. Then a write from before may still be carried out; the fence
// refuses it only if its term is over.
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
