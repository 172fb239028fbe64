package evm

import (
	"sync"

	"github.com/conchhq/conch/chain"
)

// keptSubmitted bounds how many attempts are remembered. Those forgotten are read from the node.
const keptSubmitted = 1 << 16

// submitted remembers attempts that were sent and not yet seen in a block. Safe for concurrent use.
type submitted struct {
	mu sync.Mutex
	// Attempts are added to young. When it is full it becomes aged, and those aged before are forgotten.
	young, aged map[chain.Hash]slot
}

type slot struct {
	account chain.Account
	index   uint64
}

func (s *submitted) add(attempts []chain.Signed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range attempts {
		if len(s.young) >= keptSubmitted/2 || s.young == nil {
			s.young, s.aged = map[chain.Hash]slot{}, s.young
		}
		s.young[a.Hash] = slot{a.Account, a.Index}
	}
}

func (s *submitted) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.young)+len(s.aged) > 0
}

// find returns an attempt that is remembered as if it were in a block, Failed not filled in.
func (s *submitted) find(hash chain.Hash) (in chain.Inclusion, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.look(hash)
}

// take is find, and forgets the attempt.
func (s *submitted) take(hash chain.Hash) (in chain.Inclusion, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, known = s.look(hash)
	if _, young := s.young[hash]; young { // deleting what is not there costs as much as deleting
		delete(s.young, hash)
	} else if known {
		delete(s.aged, hash)
	}
	return in, known
}

func (s *submitted) look(hash chain.Hash) (chain.Inclusion, bool) {
	at, known := s.young[hash]
	if !known {
		at, known = s.aged[hash]
	}
	return chain.Inclusion{Account: at.account, Index: at.index, Hash: hash}, known
}
