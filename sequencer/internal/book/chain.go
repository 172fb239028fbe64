package book

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/conchhq/conch/sequencer/ledger"
)

var (
	// ErrOrder is in the error of a block that does not follow the last one.
	ErrOrder = errors.New("the block does not follow the last one")
	// ErrFinal is in the error of a rewind to below the last final block: nothing was changed, and the book no longer
	// follows the chain.
	ErrFinal = errors.New("the chain went back below its last final block")
)

// block is what a block did that may be taken back.
type block struct {
	number uint64
	landed []ledger.Hash
}

// Block takes the next canonical block. The first one that a book is told may have any number. The error is ErrOrder,
// and nothing was changed.
func (b *Book) Block(in ledger.Block) error {
	if b.began && in.Number != b.head+1 {
		return fmt.Errorf("%w: %d after %d", ErrOrder, in.Number, b.head)
	}
	if !b.began { // what was heard before counts as heard now
		for e := b.waiting.Front(); e != nil; e = e.Next() {
			a, _ := e.Value.(*attempt)
			a.heard = in.Number
		}
	}
	now := block{number: in.Number}
	for _, f := range in.Facts {
		if f.Skipped != ledger.Taken || f.Assembled == (ledger.Hash{}) { // a cancelled intent has no attempt
			continue
		}
		if _, is := b.landed[f.Assembled]; is {
			continue
		}
		b.worked = true
		b.landed[f.Assembled] = landing{f.Intent, in.Number}
		now.landed = append(now.landed, f.Assembled)
		if a := b.attempts[f.Assembled]; a != nil {
			b.leave(a)
			b.apply(a)
		} else {
			b.missing[f.Assembled] = true
		}
	}
	b.began, b.head, b.top = true, in.Number, max(b.top, in.Number)
	b.blocks = append(b.blocks, now)
	if b.head > b.Contract.Depth {
		b.final = max(b.final, b.head-b.Contract.Depth)
	}
	b.finalize()
	b.expire()
	b.rest()
	return nil
}

// finalize makes final what has become so.
func (b *Book) finalize() {
	n := 0
	for ; n < len(b.blocks) && b.blocks[n].number <= b.final; n++ {
		for _, h := range b.blocks[n].landed {
			if a := b.attempts[h]; a != nil {
				b.settle(a)
			} else {
				at := b.landed[h]
				b.change.missing.add(h, Missing{at.Intent, h, at.number})
			}
		}
	}
	b.blocks = slices.Delete(b.blocks, 0, n)
}

// Rewind takes back the blocks above a number. The error is ErrFinal.
func (b *Book) Rewind(in ledger.Rewind) error {
	if !b.began || in.To >= b.head {
		return nil
	}
	if in.To < b.final {
		return fmt.Errorf("%w: to %d, and %d is final", ErrFinal, in.To, b.final)
	}
	for len(b.blocks) > 0 && b.blocks[len(b.blocks)-1].number > in.To {
		last := b.blocks[len(b.blocks)-1]
		b.blocks = b.blocks[:len(b.blocks)-1]
		for _, h := range slices.Backward(last.landed) {
			delete(b.landed, h)
			delete(b.missing, h)
			if a := b.attempts[h]; a != nil {
				b.retract(a)
				b.wait(a)
			}
		}
	}
	b.head = in.To
	return nil
}

// Missing is an attempt that has landed and whose contents are not known.
type Missing struct {
	ledger.Intent
	Assembled ledger.Hash
	Number    uint64 // of its block
}

// Missing returns what has to be asked for, the lowest block first.
func (b *Book) Missing() []Missing {
	if len(b.missing) == 0 {
		return nil
	}
	all := make([]Missing, 0, len(b.missing))
	for h := range b.missing {
		all = append(all, Missing{b.landed[h].Intent, h, b.landed[h].number})
	}
	slices.SortFunc(all, func(x, y Missing) int {
		return cmp.Or(cmp.Compare(x.Number, y.Number), slices.Compare(x.Assembled[:], y.Assembled[:]))
	})
	return all
}
