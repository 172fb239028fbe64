package pgstore

import "github.com/conchhq/conch/pending"

// kinds has changes as a statement takes them: each slot with its hash and the kind of its change, and what the kinds
// say, which is the same for all slots of a block.
type kinds struct {
	nonces []int64
	hashes [][]byte
	kinds  []int32 // positions in the following, counted from 1

	states, fates, whys, waits, firsts, seconds []string
	blocks                                      [][]byte
	numbers                                     []int64
	failed                                      []bool
}

// mostKinds is the most kinds in one statement. To find one the server reads those before it.
const mostKinds = 64

// newKinds takes the first of some changes, as many as have no more than mostKinds kinds.
func newKinds(changes []pending.Change) *kinds {
	n := len(changes)
	k := &kinds{nonces: make([]int64, 0, n), hashes: make([][]byte, 0, n), kinds: make([]int32, 0, n)}
	known := map[pending.Change]int32{}
	for _, c := range changes {
		kind := c
		kind.Index, kind.Hash = 0, ""
		if known[kind] == 0 {
			if len(known) == mostKinds {
				break
			}
			k.add(kind)
			known[kind] = int32(len(k.states))
		}
		k.nonces, k.hashes, k.kinds = append(k.nonces, int64(c.Index)), append(k.hashes, []byte(c.Hash)), append(k.kinds, known[kind])
	}
	return k
}

func (k *kinds) add(c pending.Change) {
	var block []byte
	if c.Block.Hash != "" {
		block = []byte(c.Block.Hash)
	}
	k.states, k.fates = append(k.states, c.Status.String()), append(k.fates, c.Intent.String())
	k.whys, k.waits = append(k.whys, storable(c.Why)), append(k.waits, storable(c.Waits))
	k.firsts, k.seconds = append(k.firsts, storable(c.Witnesses[0])), append(k.seconds, storable(c.Witnesses[1]))
	k.blocks, k.numbers, k.failed = append(k.blocks, block), append(k.numbers, int64(c.Block.Number)), append(k.failed, c.Failed)
}
