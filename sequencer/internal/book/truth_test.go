package book

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// truth knows which attempts count as heard, and computes all else from the whole chain each time.
type truth struct {
	most       int
	top, final uint64
	line       []ledger.Hash              // of those that have not landed, the one heard longest ago first
	heard      map[ledger.Hash]uint64     // of those in the line
	know       map[ledger.Hash]wire.Whole // heard, and not forgotten before they landed
	gone       map[ledger.StateID]bool    // what the book was told
}

func (t *truth) landedAt(chain []ledger.Block, h ledger.Hash) (uint64, bool) {
	for _, b := range chain {
		for _, f := range b.Facts {
			if f.Assembled == h && f.Skipped == ledger.Taken {
				return b.Number, true
			}
		}
	}
	return 0, false
}

func (t *truth) hear(chain []ledger.Block, h ledger.Hash, one wire.Whole) {
	at, landed := t.landedAt(chain, h)
	if _, known := t.know[h]; landed && known && at <= t.final {
		landed = false // it is final and was forgotten: it is remembered like one that has not landed
	}
	if t.know[h] = one; !landed {
		t.enter(h)
		t.trim(chain)
	}
}

func (t *truth) enter(h ledger.Hash) {
	t.leave(h)
	t.line, t.heard[h] = append(t.line, h), t.top
}

func (t *truth) leave(h ledger.Hash) {
	t.line = slices.DeleteFunc(t.line, func(x ledger.Hash) bool { return x == h })
	delete(t.heard, h)
}

func (t *truth) trim(chain []ledger.Block) {
	for len(t.line) > 0 && (len(t.line) > t.most || t.heard[t.line[0]]+deal.Life+deal.Depth <= t.top) {
		h := t.line[0]
		t.leave(h)
		if _, landed := t.landedAt(chain, h); !landed {
			delete(t.know, h)
		}
	}
}

func (t *truth) block(chain []ledger.Block) {
	last := chain[len(chain)-1]
	if t.top == 0 {
		for h := range t.heard {
			t.heard[h] = last.Number
		}
	}
	for _, f := range last.Facts {
		if f.Skipped == ledger.Taken {
			t.leave(f.Assembled)
		}
	}
	t.top = max(t.top, last.Number)
	if last.Number > deal.Depth {
		t.final = max(t.final, last.Number-deal.Depth)
	}
	t.trim(chain)
}

func (t *truth) rewind(chain, gone []ledger.Block) {
	for _, b := range slices.Backward(gone) {
		for _, f := range slices.Backward(b.Facts) {
			if _, is := t.know[f.Assembled]; is && f.Skipped == ledger.Taken {
				t.enter(f.Assembled)
				t.trim(chain)
			}
		}
	}
}

// at computes the states after a block from the beginning: what is there, what is missing, and what is spent although
// its creator is missing.
func (t *truth) at(chain []ledger.Block, number uint64) (there map[ledger.StateID]domain.State, missing []Missing, early map[ledger.StateID]bool) {
	there, early = map[ledger.StateID]domain.State{}, map[ledger.StateID]bool{}
	created := map[ledger.StateID]bool{}
	for _, b := range chain[:number] {
		for _, f := range b.Facts {
			if f.Skipped != ledger.Taken || f.Assembled == (ledger.Hash{}) {
				continue
			}
			one, known := t.know[f.Assembled]
			if !known {
				missing = append(missing, Missing{f.Intent, f.Assembled, b.Number})
				continue
			}
			for i, secret := range one.Outputs {
				id := fake.State(f.Assembled, i)
				created[id] = true
				there[id] = domain.State{ID: id, Creator: f.Intent, Assembled: f.Assembled, Secret: secret}
			}
			for _, id := range one.Attempt.Inputs {
				early[id] = true
			}
		}
	}
	for id := range early {
		delete(there, id)
	}
	slices.SortFunc(missing, func(x, y Missing) int {
		return cmp.Or(cmp.Compare(x.Number, y.Number), slices.Compare(x.Assembled[:], y.Assembled[:]))
	})
	spent := maps.Clone(early)
	maps.DeleteFunc(early, func(id ledger.StateID, _ bool) bool { return created[id] })
	for id := range t.gone {
		if delete(there, id); !spent[id] {
			early[id] = true
		}
	}
	return there, missing, early
}

// leaves notes that a state is gone, if it seems to be there and what creates it is final.
func (t *truth) leaves(chain []ledger.Block, id ledger.StateID) {
	there, _ := t.states(chain, uint64(len(chain)))
	final, _ := t.states(chain, t.final)
	_, is := there[id]
	if _, was := final[id]; is && was {
		t.gone[id] = true
	}
}

func (t *truth) states(chain []ledger.Block, number uint64) (map[ledger.StateID]domain.State, []Missing) {
	there, missing, _ := t.at(chain, number)
	return there, missing
}

// remembered are the attempts whose contents a book has to have: those in the line, and those in blocks not final.
func (t *truth) remembered(chain []ledger.Block) map[ledger.Hash]bool {
	all := map[ledger.Hash]bool{}
	for h := range t.heard {
		all[h] = true
	}
	for h := range t.know {
		if at, is := t.landedAt(chain, h); is && at > t.final {
			all[h] = true
		}
	}
	return all
}

// mayReturn reports whether a state is there after the final block, or was created after it.
func (t *truth) mayReturn(chain []ledger.Block, id ledger.StateID, creator ledger.Hash) bool {
	there, _ := t.states(chain, t.final)
	_, is := there[id]
	at, landed := t.landedAt(chain, creator)
	return is || landed && at > t.final
}

// spentAbove are the inputs of attempts in blocks that are not final.
func (t *truth) spentAbove(chain []ledger.Block) (all []ledger.StateID) {
	for _, b := range chain[t.final:] {
		for _, f := range b.Facts {
			if one, known := t.know[f.Assembled]; known && f.Skipped == ledger.Taken {
				all = append(all, one.Attempt.Inputs...)
			}
		}
	}
	return all
}

func (t *truth) snapshot(chain []ledger.Block) Snapshot {
	there, missing, early := t.at(chain, t.final)
	s := Snapshot{Number: t.final, Missing: missing}
	for _, id := range sorted(there) {
		s.States = append(s.States, there[id])
	}
	s.Early = sorted(early)
	s.sort()
	return s
}

func (s *Snapshot) sort() {
	slices.SortFunc(s.States, func(a, b domain.State) int { return a.ID.Compare(b.ID) })
	slices.SortFunc(s.Missing, func(a, b Missing) int { return slices.Compare(a.Assembled[:], b.Assembled[:]) })
	slices.SortFunc(s.Early, ledger.StateID.Compare)
}

// apply stores a change as a database would, which refuses to insert twice and to delete nothing.
func (s *Snapshot) apply(t *testing.T, c Change) {
	t.Helper()
	s.Number = c.Number
	s.States = apply(t, s.States, c.Added, c.Removed, func(x domain.State) ledger.StateID { return x.ID })
	s.Missing = apply(t, s.Missing, c.Missing, c.Heard, func(x Missing) ledger.Hash { return x.Assembled })
	s.Early = apply(t, s.Early, c.Early, c.Late, func(x ledger.StateID) ledger.StateID { return x })
	s.sort()
}

func apply[V any, K comparable](t *testing.T, all, came []V, went []K, key func(V) K) []V {
	t.Helper()
	for _, k := range went {
		n := len(all)
		if all = slices.DeleteFunc(all, func(x V) bool { return key(x) == k }); len(all) != n-1 {
			t.Fatalf("a change removes %v, which was not stored", k)
		}
	}
	for _, v := range came {
		if slices.ContainsFunc(all, func(x V) bool { return key(x) == key(v) }) {
			t.Fatalf("a change adds %v, which is stored", v)
		}
		all = append(all, v)
	}
	return all
}
