package chain

import (
	"fmt"
	"slices"
)

// Trail turns what is seen of a chain's heads into the steps between them. Folding
// its turns gives the best chain as of the last head, whatever heads were missed in
// between. It is a pure machine: it asks for a block that it has not seen through the
// function it is handed, and changes nothing when that fails. Not safe for concurrent
// use.
type Trail struct {
	keep   int
	blocks []Block // contiguous, oldest first; the last is the head
	final  Block   // the last that was reported
	told   Block   // the last that the chain named, which may be ahead of the heads seen
}

// Lookup finds a block by its hash, in the best chain or beside it.
type Lookup func(Hash) (Block, error)

// NewTrail begins after the blocks known so far, contiguous and oldest first, of
// which the last was the head. With none it begins at the first head that it sees. It
// remembers the newest keep blocks, final or not: a node that was killed takes back
// even final ones.
func NewTrail(keep int, known ...Block) *Trail {
	t := &Trail{keep: max(keep, 1), blocks: slices.Clone(known)}
	t.forget()
	return t
}

// Head takes the best block and returns the turns to it: blocks undone, newest
// first, then blocks done, oldest first, then what is final by now. A head that is an
// ancestor of the last one only undoes. The error is of the lookup, or wraps
// ErrThread or ErrForeign.
func (t *Trail) Head(head Block, look Lookup) ([]Turn, error) {
	old, branch, err := t.part(head, look)
	if err != nil {
		return nil, err
	}
	var turns []Turn
	for _, b := range slices.Backward(old.undone) {
		turns = append(turns, Turn{Reverted, b})
	}
	slices.Reverse(branch)
	for _, b := range branch {
		turns = append(turns, Turn{Applied, b})
	}
	t.blocks = slices.Concat(old.kept, branch)
	if len(old.undone) > 0 && old.undone[0].Number <= t.final.Number {
		// What was final was taken back, so its height may become final once more.
		t.final, t.told = Block{}, Block{}
		if len(old.kept) > 0 {
			t.final = old.kept[len(old.kept)-1]
		}
	}
	turns = append(turns, t.settle()...)
	t.forget()
	return turns, nil
}

// Final takes the block that the chain calls final. It is reported once the heads
// seen have reached it; one that is older than the last is no news.
func (t *Trail) Final(b Block) []Turn {
	t.told = b
	return t.settle()
}

// Below finds the block that many blocks below the head, if it is remembered.
func (t *Trail) Below(depth uint64) (Block, bool) {
	if depth >= uint64(len(t.blocks)) {
		return Block{}, false
	}
	return t.blocks[len(t.blocks)-1-int(depth)], true
}

// cut is the old side of a fork: what both sides have, and what only the old one has.
type cut struct {
	kept, undone []Block
}

// part finds where the way to a new head leaves the old one: the old side, and the
// new blocks, newest first. It walks back by parents, on the side that is higher.
func (t *Trail) part(head Block, look Lookup) (cut, []Block, error) {
	if len(t.blocks) == 0 {
		return cut{}, []Block{head}, nil
	}
	if at := find(t.blocks, head.Number, head.Hash); at >= 0 {
		return cut{t.blocks[:at+1], t.blocks[at+1:]}, nil, nil
	}
	old, branch := t.blocks, []Block{head}
	for {
		lowest := branch[len(branch)-1]
		if at := find(old, lowest.Number-1, lowest.Parent); at >= 0 {
			return cut{old[:at+1], old[at+1:]}, branch, nil
		}
		if at := find(old, head.Number, head.Hash); at >= 0 {
			return cut{old[:at+1], old[at+1:]}, nil, nil
		}
		if lowest.Number == 0 && old[0].Number == 0 {
			return cut{}, nil, fmt.Errorf("%w: its first block was %v and is %v", ErrForeign, old[0].Hash, lowest.Hash)
		}
		if lowest.Number == old[0].Number && lowest.Parent == old[0].Parent {
			return cut{nil, old}, branch, nil
		}
		if len(old) > t.keep || len(branch) > t.keep {
			return cut{}, nil, fmt.Errorf("%w: more than %d blocks lie between %v and %v", ErrThread, t.keep, old[len(old)-1].Hash, head.Hash)
		}
		var err error
		if lowest.Number > old[0].Number {
			branch, err = extend(branch, lowest, look)
		} else {
			old, err = deepen(old, look)
		}
		if err != nil {
			return cut{}, nil, err
		}
	}
}

// extend adds the parent of the lowest block of a branch, which is newest first.
func extend(branch []Block, lowest Block, look Lookup) ([]Block, error) {
	parent, err := lookUp(lowest, look)
	return append(branch, parent), err
}

// deepen adds the parent of the oldest block, in a copy: the walk may still fail.
func deepen(old []Block, look Lookup) ([]Block, error) {
	parent, err := lookUp(old[0], look)
	return slices.Concat([]Block{parent}, old), err
}

func lookUp(child Block, look Lookup) (Block, error) {
	parent, err := look(child.Parent)
	if err != nil {
		return Block{}, fmt.Errorf("look for block %d, the parent of %v: %w", child.Number-1, child.Hash, err)
	}
	if parent.Hash != child.Parent || parent.Number+1 != child.Number {
		return Block{}, fmt.Errorf("%w: asked for block %d with hash %v, the endpoint gave block %d with hash %v",
			ErrThread, child.Number-1, child.Parent, parent.Number, parent.Hash)
	}
	return parent, nil
}

// settle reports the final block that the chain named, if the heads seen contain it
// or began above it.
func (t *Trail) settle() []Turn {
	if len(t.blocks) == 0 || t.told.Hash == "" || t.told.Hash == t.final.Hash {
		return nil
	}
	news := t.final.Hash == "" || t.told.Number > t.final.Number
	if !news || t.told.Number >= t.blocks[0].Number && find(t.blocks, t.told.Number, t.told.Hash) < 0 {
		return nil
	}
	t.final = t.told
	return []Turn{{Finalized, t.told}}
}

// forget drops the oldest blocks beyond what is kept, and the array with them.
func (t *Trail) forget() {
	if len(t.blocks) > t.keep {
		t.blocks = slices.Clone(t.blocks[len(t.blocks)-t.keep:])
	}
}

// find tells where a block is in a contiguous list, or -1.
func find(blocks []Block, number uint64, hash Hash) int {
	if len(blocks) == 0 || number < blocks[0].Number || number-blocks[0].Number >= uint64(len(blocks)) {
		return -1
	}
	if at := int(number - blocks[0].Number); blocks[at].Hash == hash {
		return at
	}
	return -1
}
