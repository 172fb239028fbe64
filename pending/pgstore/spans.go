package pgstore

import "github.com/conchhq/conch/pending"

// spans has changes as a statement takes them. A span is slots with consecutive nonces whose changes are of one kind: they
// differ in the slot and its hash alone, as those of a block do.
type spans struct {
	firsts, lasts    []int64
	offsets, lengths []int32 // of the hashes of each span in hashes, which lie there in the order of the nonces, each as long
	kinds            []int32 // of each span, counted from 1
	hashes           []byte

	states, fates, whys, waits, witnesses, others []string // of each kind
	blocks                                        [][]byte
	numbers                                       []int64
	effects                                       []string
}

// mostKinds is the most kinds in one statement. To find one the server reads those before it.
const mostKinds = 64

// newSpans takes the first of some changes, as many as have no more than mostKinds kinds, and returns the others.
func newSpans(changes []pending.Change) (s *spans, others []pending.Change) {
	s = new(spans)
	known := map[pending.Change]int32{}
	var last pending.Change // the kind of the span that is being made
	for i, c := range changes {
		kind := c
		kind.Index, kind.Hash = 0, ""
		n := len(s.kinds) - 1
		if n >= 0 && kind == last && s.lasts[n]+1 == int64(c.Index) && int(s.lengths[n]) == len(c.Hash) {
			s.lasts[n]++
			s.hashes = append(s.hashes, c.Hash...)
			continue
		}
		if known[kind] == 0 {
			if len(known) == mostKinds {
				return s, changes[i:]
			}
			s.add(kind)
			known[kind] = int32(len(s.states))
		}
		if last = kind; s.hashes == nil {
			s.hashes = make([]byte, 0, len(changes)*len(c.Hash))
		}
		s.firsts, s.lasts, s.kinds = append(s.firsts, int64(c.Index)), append(s.lasts, int64(c.Index)), append(s.kinds, known[kind])
		s.offsets, s.lengths = append(s.offsets, int32(len(s.hashes))), append(s.lengths, int32(len(c.Hash)))
		s.hashes = append(s.hashes, c.Hash...)
	}
	return s, nil
}

func (s *spans) add(c pending.Change) {
	var block []byte
	if c.Block.Hash != "" {
		block = []byte(c.Block.Hash)
	}
	s.states, s.fates = append(s.states, c.Status.String()), append(s.fates, c.Intent.String())
	s.whys, s.waits = append(s.whys, storable(c.Why)), append(s.waits, storable(c.Waits))
	s.witnesses, s.others = append(s.witnesses, storable(c.Witnesses[0])), append(s.others, storable(c.Witnesses[1]))
	s.blocks, s.numbers, s.effects = append(s.blocks, block), append(s.numbers, int64(c.Block.Number)), append(s.effects, storable(c.Effect.String()))
}
