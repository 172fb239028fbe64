package ancestry

import (
	"fmt"
	"slices"

	"github.com/conchhq/conch/chain"
)

// Thread is a line of blocks of which each names the one before as its parent. It proves that a block
// is an ancestor of another (W1). The zero Thread is empty. It is a pure machine: it looks up unknown
// blocks through a Lookup, and changes nothing if that fails. It is not safe for concurrent use.
type Thread struct {
	blocks []chain.Block // oldest first
}

// mostThread bounds the blocks of a Thread, 72 bytes each.
const mostThread = 50_000

// RiseTo makes top the newest block. If the line to it does not lead over the newest block so far, the
// older ones are dropped. A top that is in the line already changes nothing.
func (t *Thread) RiseTo(top chain.Block, look Lookup) error {
	if t.Has(top) {
		return nil
	}
	newest, from := t.Newest(), top.Number
	if newest.Hash != "" && newest.Number < top.Number {
		from = newest.Number + 1
	}
	line, err := walk(top, from, look)
	if err != nil {
		return err
	}
	if newest.Hash != "" && line[0].Parent == newest.Hash && line[0].Number == newest.Number+1 {
		line = slices.Concat(t.blocks, line)
	}
	t.blocks = line[max(0, len(line)-mostThread):]
	return nil
}

// SinkTo adds ancestors of the oldest block down to a height.
func (t *Thread) SinkTo(to uint64, look Lookup) error {
	if len(t.blocks) == 0 || to >= t.blocks[0].Number {
		return nil
	}
	if top := t.blocks[len(t.blocks)-1]; top.Number-to >= mostThread {
		return fmt.Errorf("%w: more than %d blocks lie between block %d and block %d", chain.ErrThread, mostThread, to, top.Number)
	}
	line, err := walk(t.blocks[0], to, look)
	if err != nil {
		return err
	}
	t.blocks = slices.Concat(line[:len(line)-1], t.blocks)
	return nil
}

// Has reports whether the block is in the line.
func (t *Thread) Has(b chain.Block) bool { return find(t.blocks, b.Number, b.Hash) >= 0 }

// Oldest returns the oldest block, the zero Block if there is none.
func (t *Thread) Oldest() chain.Block {
	if len(t.blocks) == 0 {
		return chain.Block{}
	}
	return t.blocks[0]
}

// Newest returns the newest block, the zero Block if there is none.
func (t *Thread) Newest() chain.Block {
	if len(t.blocks) == 0 {
		return chain.Block{}
	}
	return t.blocks[len(t.blocks)-1]
}

// At returns the block of a height, if the line has one.
func (t *Thread) At(number uint64) (chain.Block, bool) {
	if len(t.blocks) == 0 || number < t.blocks[0].Number || number > t.Newest().Number {
		return chain.Block{}, false
	}
	return t.blocks[number-t.blocks[0].Number], true
}

// walk returns the ancestors of a block down to a height, oldest first, and the block itself.
func walk(top chain.Block, to uint64, look Lookup) ([]chain.Block, error) {
	if top.Number-to >= mostThread {
		return nil, fmt.Errorf("%w: more than %d blocks lie between block %d and block %d", chain.ErrThread, mostThread, to, top.Number)
	}
	line := []chain.Block{top}
	for lowest := top; lowest.Number > to; {
		parent, err := lookUp(lowest, look)
		if err != nil {
			return nil, err
		}
		line = append(line, parent)
		lowest = parent
	}
	slices.Reverse(line)
	return line, nil
}
