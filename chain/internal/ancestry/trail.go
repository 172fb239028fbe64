package ancestry

import (
	"fmt"
	"slices"

	"github.com/conchhq/conch/chain"
)

// Trail turns a sequence of heads into the turns between them. Applying the turns gives
// the best chain as of the last head, even if heads in between were missed. Trail is a
// pure machine: it looks up unknown blocks through a Lookup, and changes nothing if that
// fails. It is not safe for concurrent use.
type Trail struct {
	keep   int
	blocks []chain.Block // contiguous, oldest first; the last is the head
	final  chain.Block   // last final block reported
	named  chain.Block   // last final block named by the chain; it may be above the head
}

// Lookup finds a block by its hash, on any branch.
type Lookup func(chain.Hash) (chain.Block, error)

// NewTrail makes a trail whose head is the last of the known blocks, which are contiguous
// and oldest first. With none it begins at the first head that it sees. It remembers the
// newest keep blocks, final or not, since a node that was killed reverts final blocks too.
func NewTrail(keep int, known ...chain.Block) *Trail {
	t := &Trail{keep: max(keep, 1), blocks: slices.Clone(known)}
	t.dropOldest()
	return t
}

// TakeHead takes the new head and returns the turns to it: reverted blocks, newest first, then
// applied blocks, oldest first, then a finalized block. A head that is an ancestor of the
// last one only reverts. The error comes from the lookup, or wraps ErrThread or ErrForeign.
func (t *Trail) TakeHead(head chain.Block, look Lookup) ([]chain.Turn, error) {
	old, branch, err := t.findFork(head, look)
	if err != nil {
		return nil, err
	}
	var turns []chain.Turn
	for _, b := range slices.Backward(old.undone) {
		turns = append(turns, chain.Turn{Kind: chain.Reverted, Block: b})
	}
	slices.Reverse(branch)
	for _, b := range branch {
		turns = append(turns, chain.Turn{Kind: chain.Applied, Block: b})
	}
	t.blocks = slices.Concat(old.kept, branch)
	if len(old.undone) > 0 {
		t.named = chain.Block{} // named beside another head: its depth was not counted from this one
	}
	if len(old.undone) > 0 && old.undone[0].Number <= t.final.Number {
		// A final block was reverted, so a block of its height may become final again.
		t.final = chain.Block{}
		if len(old.kept) > 0 {
			t.final = old.kept[len(old.kept)-1]
		}
	}
	turns = append(turns, t.reportFinal()...)
	t.dropOldest()
	return turns, nil
}

// TakeFinal takes the block that the chain calls final. It is reported once it is the head or an ancestor
// of it, unless it is older than the last one reported. If it is below the oldest block that is
// remembered, linked has to prove that it is an ancestor of that one.
func (t *Trail) TakeFinal(b chain.Block, linked func(oldest, b chain.Block) (bool, error)) ([]chain.Turn, error) {
	t.named = b
	if len(t.blocks) > 0 && b.Hash != "" && b.Number < t.blocks[0].Number && t.isNews() {
		is, err := linked(t.blocks[0], b)
		if err != nil || !is {
			return nil, err
		}
		t.final = b
		return []chain.Turn{{Kind: chain.Finalized, Block: b}}, nil
	}
	return t.reportFinal(), nil
}

// Below returns the block depth blocks below the head, if it is remembered.
func (t *Trail) Below(depth uint64) (chain.Block, bool) {
	if depth >= uint64(len(t.blocks)) {
		return chain.Block{}, false
	}
	return t.blocks[len(t.blocks)-1-int(depth)], true
}

// cut is the old side of a fork: the blocks of both sides, and those of the old one alone.
type cut struct {
	kept, undone []chain.Block
}

// findFork finds the fork between the old head and the new one. It returns the old side and
// the new blocks, newest first. It walks back by parents, on the higher side.
func (t *Trail) findFork(head chain.Block, look Lookup) (cut, []chain.Block, error) {
	if len(t.blocks) == 0 {
		return cut{}, []chain.Block{head}, nil
	}
	if at := find(t.blocks, head.Number, head.Hash); at >= 0 {
		return cut{t.blocks[:at+1], t.blocks[at+1:]}, nil, nil
	}
	old, branch := t.blocks, []chain.Block{head}
	for {
		lowest := branch[len(branch)-1]
		if at := find(old, lowest.Number-1, lowest.Parent); at >= 0 {
			return cut{old[:at+1], old[at+1:]}, branch, nil
		}
		if at := find(old, head.Number, head.Hash); at >= 0 {
			return cut{old[:at+1], old[at+1:]}, nil, nil
		}
		if lowest.Number == 0 && old[0].Number == 0 {
			return cut{}, nil, fmt.Errorf("%w: block 0 was %v and is now %v", chain.ErrForeign, old[0].Hash, lowest.Hash)
		}
		if lowest.Number == old[0].Number && lowest.Parent == old[0].Parent {
			return cut{nil, old}, branch, nil
		}
		if len(old) > t.keep || len(branch) > t.keep {
			return cut{}, nil, fmt.Errorf("%w: more than %d blocks lie between %v and %v", chain.ErrThread, t.keep, old[len(old)-1].Hash, head.Hash)
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
func extend(branch []chain.Block, lowest chain.Block, look Lookup) ([]chain.Block, error) {
	parent, err := lookUp(lowest, look)
	return append(branch, parent), err
}

// deepen adds the parent of the oldest block to a copy, since the walk may still fail.
func deepen(old []chain.Block, look Lookup) ([]chain.Block, error) {
	parent, err := lookUp(old[0], look)
	return slices.Concat([]chain.Block{parent}, old), err
}

func lookUp(child chain.Block, look Lookup) (chain.Block, error) {
	if child.Parent == "" { // a caller that follows on does not know the parent of a block that it was not shown
		return chain.Block{}, fmt.Errorf("%w: the parent of %v is not known", chain.ErrThread, child.Hash)
	}
	parent, err := look(child.Parent)
	if err != nil {
		return chain.Block{}, fmt.Errorf("look up block %d, the parent of %v: %w", child.Number-1, child.Hash, err)
	}
	if parent.Hash != child.Parent || parent.Number+1 != child.Number {
		return chain.Block{}, fmt.Errorf("%w: asked for block %d with hash %v, the endpoint gave block %d with hash %v",
			chain.ErrThread, child.Number-1, child.Parent, parent.Number, parent.Hash)
	}
	return parent, nil
}

// reportFinal reports the final block that the chain named, if it is on the trail.
func (t *Trail) reportFinal() []chain.Turn {
	if t.named.Hash == "" || !t.isNews() || find(t.blocks, t.named.Number, t.named.Hash) < 0 {
		return nil
	}
	t.final = t.named
	return []chain.Turn{{Kind: chain.Finalized, Block: t.named}}
}

// isNews reports whether the final block that the chain named is above the last one reported.
func (t *Trail) isNews() bool { return t.final.Hash == "" || t.named.Number > t.final.Number }

// dropOldest drops the oldest blocks beyond keep, and clones so that their array is freed.
func (t *Trail) dropOldest() {
	if len(t.blocks) > t.keep {
		t.blocks = slices.Clone(t.blocks[len(t.blocks)-t.keep:])
	}
}

// find returns the position of a block in a contiguous list, or -1.
func find(blocks []chain.Block, number uint64, hash chain.Hash) int {
	if len(blocks) == 0 || number < blocks[0].Number || number-blocks[0].Number >= uint64(len(blocks)) {
		return -1
	}
	if at := int(number - blocks[0].Number); blocks[at].Hash == hash {
		return at
	}
	return -1
}
