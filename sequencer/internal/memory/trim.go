package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Trim implements sequencer.Store.
func (m *Store) Trim(_ context.Context, ages map[string]time.Duration, most int) (n sequencer.Trimmed, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, contract := range slices.Sorted(maps.Keys(ages)) {
		if t := m.contracts[contract]; t != nil {
			before := time.Now().Add(-ages[contract])
			n.Intents += t.trimIntents(before, most-n.Intents)
			n.Attempts += t.trimAttempts(before, most-n.Attempts)
		}
	}
	return n, nil
}

// trimIntents forgets intents that have ended, with their grants, and what they were granted and did not land.
func (t *tables) trimIntents(before time.Time, most int) int {
	var old []*intent
	for _, o := range t.numbered {
		if !o.ended.IsZero() && o.ended.Before(before) {
			old = append(old, o)
		}
	}
	slices.SortStableFunc(old, func(a, b *intent) int { return a.ended.Compare(b.ended) })
	old = old[:min(most, len(old))]
	named := t.named()
	for _, o := range old {
		delete(t.keys, o.Key)
		delete(t.intents, o.Sequence)
		for _, g := range o.Grants {
			if k := t.wholes[g.Assembled]; k != nil && !k.landed && g.Assembled != o.result.Assembled && !named[g.Assembled] {
				delete(t.wholes, g.Assembled)
			}
		}
	}
	t.numbered = slices.DeleteFunc(t.numbered, func(o *intent) bool { return t.intents[o.Sequence] != o })
	return len(old)
}

// trimAttempts forgets contents that nobody needs.
func (t *tables) trimAttempts(before time.Time, most int) int {
	named := t.named()
	var old []ledger.Hash
	for h, k := range t.wholes {
		if !k.done.IsZero() && k.done.Before(before) && !named[h] {
			old = append(old, h)
		}
	}
	slices.SortFunc(old, func(a, b ledger.Hash) int {
		return cmp.Or(t.wholes[a].done.Compare(t.wholes[b].done), bytes.Compare(a[:], b[:]))
	})
	old = old[:min(most, len(old))]
	for _, h := range old {
		delete(t.wholes, h)
	}
	return len(old)
}

// named returns the attempts that a grant of an open intent or a dispatch names: they may still land, or are in a block that is
// not final, and a start reads them.
func (t *tables) named() map[ledger.Hash]bool {
	all := map[ledger.Hash]bool{}
	for _, o := range t.numbered {
		for _, g := range o.Grants {
			all[g.Assembled] = all[g.Assembled] || o.ended.IsZero()
		}
	}
	for _, r := range t.rows {
		all[r.Grant.Assembled] = true
	}
	return all
}
