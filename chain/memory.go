package chain

import (
	"slices"
	"sync"
)

// Memory keeps the blocks that a driver saw last, in the best chain or beside it, so
// that a caller who follows the heads anew does not lose the thread when the node has
// forgotten what it had told. Safe for concurrent use.
type Memory struct {
	mu     sync.Mutex
	keep   int
	blocks map[Hash]Block
	order  []Hash // by arrival
}

// NewMemory keeps that many blocks.
func NewMemory(keep int) *Memory { return &Memory{keep: keep, blocks: map[Hash]Block{}} }

// Add remembers a block.
func (m *Memory) Add(b Block) {
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

// Get finds a block by its hash.
func (m *Memory) Get(h Hash) (Block, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, known := m.blocks[h]
	return b, known
}

// Thread lists a block and those before it, oldest first, as far as they are
// remembered: what NewTrail wants to know. The zero Block has no thread.
func (m *Memory) Thread(last Block) []Block {
	if last.Hash == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	thread := []Block{last}
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
