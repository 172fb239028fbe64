package ancestry

import (
	"slices"
	"sync"

	"github.com/conchhq/conch/chain"
)

// Memory keeps the newest blocks that a driver has seen, on any branch, so that a caller can
// resume Heads after the node has forgotten them. It is safe for concurrent use.
type Memory struct {
	mu     sync.Mutex
	keep   int
	blocks map[chain.Hash]chain.Block
	order  []chain.Hash // by arrival
}

// NewMemory makes a memory of the newest keep blocks.
func NewMemory(keep int) *Memory { return &Memory{keep: keep, blocks: map[chain.Hash]chain.Block{}} }

// Add stores a block and drops the oldest if there are too many.
func (m *Memory) Add(b chain.Block) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.blocks[b.Hash]; known {
		return
	}
	m.blocks[b.Hash] = b
	m.order = append(m.order, b.Hash)
	if len(m.order) > m.keep {
		delete(m.blocks, m.order[0])
		m.order = m.order[1:]
	}
}

// Get returns the block with a hash, and whether it is remembered.
func (m *Memory) Get(h chain.Hash) (chain.Block, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, known := m.blocks[h]
	return b, known
}

// Thread returns a block and its remembered ancestors, oldest first, for NewTrail.
func (m *Memory) Thread(last chain.Block) []chain.Block {
	if last.Hash == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if whole, known := m.blocks[last.Hash]; known {
		last = whole // the caller may not know its parent
	}
	thread := []chain.Block{last}
	for len(thread) < m.keep {
		b, known := m.blocks[thread[len(thread)-1].Parent]
		if !known {
			break
		}
		thread = append(thread, b)
	}
	slices.Reverse(thread)
	return thread
}
