package evm

import (
	"sync"

	"github.com/conchhq/conch/chain"
)

// keptHanded bounds how many attempts are remembered; what was forgotten is asked for.
const keptHanded = 1 << 16

// handed is the indices of attempts that were handed to the node and not yet seen in a
// block. Safe for concurrent use.
type handed struct {
	mu          sync.Mutex
	young, aged map[chain.Hash]uint64
}

func (h *handed) add(attempts []chain.Signed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range attempts {
		if len(h.young) >= keptHanded/2 || h.young == nil {
			h.young, h.aged = map[chain.Hash]uint64{}, h.young
		}
		h.young[a.Hash] = a.Index
	}
}

func (h *handed) any() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.young)+len(h.aged) > 0
}

// take returns an attempt's index and forgets it.
func (h *handed) take(hash chain.Hash) (index uint64, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if index, known = h.young[hash]; !known {
		index, known = h.aged[hash]
	}
	delete(h.young, hash)
	delete(h.aged, hash)
	return index, known
}
