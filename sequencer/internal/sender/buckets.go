package sender

import (
	"cmp"
	"slices"
)

// buckets have intents by the block at which something is due. An intent that ends earlier is taken out, or millions
// would stay in memory until the last blocks of their grants.
type buckets map[uint64]map[*intent]struct{}

func (b buckets) add(block uint64, it *intent) {
	if b[block] == nil {
		b[block] = map[*intent]struct{}{}
	}
	b[block][it] = struct{}{}
}

func (b buckets) remove(block uint64, it *intent) {
	if delete(b[block], it); len(b[block]) == 0 {
		delete(b, block)
	}
}

// take takes out what is due at a block, in the order of submission.
func (b buckets) take(block uint64) []*intent {
	if len(b[block]) == 0 {
		return nil
	}
	all := make([]*intent, 0, len(b[block]))
	for it := range b[block] {
		all = append(all, it)
	}
	delete(b, block)
	slices.SortFunc(all, func(x, y *intent) int { return cmp.Compare(x.order, y.order) })
	return all
}
