package book

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Snapshot is what a book knows at a final block. It is the sum of all changes.
type Snapshot struct {
	Number  uint64           // the final block
	States  []domain.State   // that are there
	Missing []Missing        // attempts that have landed and are not known; or are Late, and then States has some of theirs
	Early   []ledger.StateID // states that are spent, and what creates them is missing; or they are Gone
}

// Change is what became final since the last one. It is stored whole, after the one before it: what it removes may be
// what that one added. What came and went in between is not in it.
type Change struct {
	Number  uint64 // the last final block
	Added   []domain.State
	Removed []ledger.StateID // that were in a Change before, or were loaded
	Missing []Missing
	Heard   []ledger.Hash // that were Missing before, and are no longer Late
	Early   []ledger.StateID
	Late    []ledger.StateID // that were Early before: what was missing was heard
	Landed  []Landed         // that are in the chain, in a block that need not be final yet: a member may lack them
	Undone  []ledger.Hash    // that were Landed, and their block is no longer in the chain
	Spent   []ledger.Hash    // that are final, and none of the states that they have created is left: their contents may go
}

// Landed is an attempt that is in the chain, with its contents.
type Landed struct {
	Assembled ledger.Hash
	wire.Whole
}

// Final returns what became final and what has landed since it was last asked, and false if nothing did. All is sorted
// by name.
func (b *Book) Final() (Change, bool) {
	if b.final == b.told && b.change.empty() {
		return Change{}, false
	}
	b.told = b.final
	c := Change{Number: b.final}
	c.Added, c.Removed = b.change.states.take()
	c.Missing, c.Heard = b.change.missing.take()
	c.Early, c.Late = b.change.early.take()
	for _, h := range sorted(b.change.landed) {
		c.Landed = append(c.Landed, Landed{h, b.change.landed[h]})
	}
	c.Undone, c.Spent = sorted(b.change.undone), sorted(b.change.spent)
	b.change = newChanges()
	return c, true
}

// Load begins a new book with what was stored. Blocks after its number are told next; if nothing was stored, the first
// one may have any number, as a contract is younger than its chain.
func (b *Book) Load(s Snapshot) error {
	if b.began || len(b.attempts) > 0 {
		return errors.New("book: only an empty one can be loaded")
	}
	if s.Number == 0 {
		return nil
	}
	b.began, b.head, b.top, b.final, b.told = true, s.Number, s.Number, s.Number, s.Number
	for _, state := range s.States {
		e := &entry{State: state, label: label(b.Rules, state), landed: true}
		b.states[state.ID] = e
		b.labels.add(e.label, &e.State)
		b.left[state.Assembled]++
	}
	for _, m := range s.Missing {
		if b.left[m.Assembled] > 0 {
			b.late[m.Assembled] = nil
			continue
		}
		b.landed[m.Assembled] = landing{Intent: m.Intent, number: m.Number}
		b.missing[m.Assembled] = true
	}
	for _, state := range s.States {
		if left, is := b.late[state.Assembled]; is {
			b.late[state.Assembled] = append(left, state.ID)
		}
	}
	for _, id := range s.Early {
		b.spent[id] = true
	}
	return nil
}

// delta is what came and what went.
type delta[K ~[32]byte, V any] struct {
	came map[K]V
	went map[K]struct{}
}

func newDelta[K ~[32]byte, V any]() delta[K, V] { return delta[K, V]{map[K]V{}, map[K]struct{}{}} }

func (d delta[K, V]) add(k K, v V) { d.came[k] = v }

func (d delta[K, V]) remove(k K) {
	if _, is := d.came[k]; is {
		delete(d.came, k)
		return
	}
	d.went[k] = struct{}{}
}

func (d delta[K, V]) empty() bool { return len(d.came)+len(d.went) == 0 }

// take returns both, sorted by their keys.
func (d delta[K, V]) take() (came []V, went []K) {
	for _, k := range sorted(d.came) {
		came = append(came, d.came[k])
	}
	return came, sorted(d.went)
}

func sorted[K ~[32]byte, V any](all map[K]V) []K {
	return slices.SortedFunc(maps.Keys(all), func(a, b K) int { x, y := [32]byte(a), [32]byte(b); return bytes.Compare(x[:], y[:]) })
}

// changes is a Change that grows.
type changes struct {
	states  delta[ledger.StateID, domain.State]
	missing delta[ledger.Hash, Missing]
	early   delta[ledger.StateID, ledger.StateID]
	landed  map[ledger.Hash]wire.Whole
	undone  map[ledger.Hash]struct{}
	spent   map[ledger.Hash]struct{}
}

func newChanges() changes {
	return changes{
		newDelta[ledger.StateID, domain.State](), newDelta[ledger.Hash, Missing](), newDelta[ledger.StateID, ledger.StateID](),
		map[ledger.Hash]wire.Whole{}, map[ledger.Hash]struct{}{}, map[ledger.Hash]struct{}{},
	}
}

func (c changes) empty() bool {
	return c.states.empty() && c.missing.empty() && c.early.empty() && len(c.landed)+len(c.undone)+len(c.spent) == 0
}
