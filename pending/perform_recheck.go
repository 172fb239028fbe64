package pending

import (
	"context"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pause"
)

const recheckTries = 3

// recheck looks at the newest final row below all that was loaded. While nobody followed the chain, as at rest or between
// two leaders, a reorganisation may have put what was final into other blocks, and the chain counts as many nonces as
// before. What is below that row is in no later block, so it stays if the row does. The machine looks again before it
// believes that: an endpoint may be behind. Nothing waits for it.
func (l *loop) recheck(ctx context.Context, snap Snapshot) {
	lowest, width := snap.lowest()
	for try := range recheckTries {
		if lowest <= snap.Life.First || try > 0 && pause.For(ctx, l.Retry) != nil {
			return
		}
		if elsewhere, err := l.elsewhere(ctx, lowest-1); err == nil {
			if elsewhere {
				l.inbox.Put(moved{From: lowest - min(lowest, max(1, width))})
			}
			return
		}
	}
}

// lowest returns the lowest nonce that a snapshot has, or the next one, and how many of its rows are final.
func (s *Snapshot) lowest() (lowest, final uint64) {
	lowest = s.Next
	for _, one := range s.Slots {
		if lowest = min(lowest, one.Index); one.Final {
			final++
		}
	}
	for _, one := range s.Runs {
		lowest = min(lowest, one.First)
	}
	return lowest, final
}

// elsewhere reports whether the chain has a final transaction of the store, or another attempt for its nonce, in another
// block than the store. A transaction that is not found proves nothing: some nodes forget old ones.
func (l *loop) elsewhere(ctx context.Context, index uint64) (bool, error) {
	if l.noIndex {
		return false, nil // and such chains name the blocks that are final
	}
	ctx, cancel := context.WithTimeout(ctx, l.Longest)
	defer cancel()
	slots, err := l.Store.Slots(ctx, l.Account, index, index)
	if err != nil || len(slots) == 0 || !slots[0].Final || slots[0].Last.Hash == "" {
		return false, err
	}
	hashes := []chain.Hash{slots[0].Last.Hash}
	for _, a := range slots[0].Attempts {
		hashes = append(hashes, a.Hash)
	}
	seen, err := l.Chain.Probe(ctx, hashes)
	for _, one := range seen {
		if one.Included() && one.Block.Hash != slots[0].Last.Block.Hash {
			return true, err
		}
	}
	return false, err
}
