package evm

import (
	"sync"

	"github.com/conchhq/conch/chain"
)

// keptHanded bounds how many attempts are remembered; what was forgotten is asked for.
const keptHanded = 1 << 16

// handed is whose attempts were handed to the node, with which index, and not yet seen
// in a block. Safe for concurrent use.
type handed struct {
	mu          sync.Mutex
	young, aged map[chain.Hash]slot
}

type slot struct {
	account chain.Account
	index   uint64
}

func (h *handed) add(attempts []chain.Signed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range attempts {
		if len(h.young) >= keptHanded/2 || h.young == nil {
			h.young, h.aged = map[chain.Hash]slot{}, h.young
		}
		h.young[a.Hash] = slot{a.Account, a.Index}
	}
}

func (h *handed) any() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.young)+len(h.aged) > 0
}

// find returns where an attempt belongs.
func (h *handed) find(hash chain.Hash) (in chain.Inclusion, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.look(hash)
}

// take is find, and forgets it.
func (h *handed) take(hash chain.Hash) (in chain.Inclusion, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	in, known = h.look(hash)
	delete(h.young, hash)
	delete(h.aged, hash)
	return in, known
}

func (h *handed) look(hash chain.Hash) (chain.Inclusion, bool) {
	s, known := h.young[hash]
	if !known {
		s, known = h.aged[hash]
	}
	return chain.Inclusion{Account: s.account, Index: s.index, Hash: hash}, known
}
