package sequencer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/sequencer/book"
	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sender"
	"github.com/conchhq/conch/sequencer/wire"
)

// Memory is a store in memory, for tests and examples.
type Memory struct {
	mu        sync.Mutex
	contracts map[string]*tables
}

// tables are those of one contract.
type tables struct {
	final   uint64
	states  map[ledger.StateID]domain.State
	missing map[ledger.Hash]book.Missing
	early   map[ledger.StateID]struct{}

	intents []sender.Loaded // in the order of submission, also those that have ended
	at      []time.Time     // when each was written
	place   map[ledger.Sequence]int
	keys    map[string]ledger.Sequence
	results map[ledger.Sequence]sender.Result
	wholes  map[ledger.Hash]wire.Whole

	rows  map[ledger.Intent]coordinator.Row
	order []ledger.Intent
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{contracts: map[string]*tables{}} }

func (m *Memory) of(contract string) *tables {
	t := m.contracts[contract]
	if t == nil {
		t = &tables{
			states: map[ledger.StateID]domain.State{}, missing: map[ledger.Hash]book.Missing{}, early: map[ledger.StateID]struct{}{},
			place: map[ledger.Sequence]int{}, keys: map[string]ledger.Sequence{}, results: map[ledger.Sequence]sender.Result{},
			wholes: map[ledger.Hash]wire.Whole{}, rows: map[ledger.Intent]coordinator.Row{},
		}
		m.contracts[contract] = t
	}
	return t
}

// Load implements Store.
func (m *Memory) Load(_ context.Context, contract string) (Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var s Stored
	t := m.contracts[contract]
	if t == nil {
		return s, nil
	}
	s.Book.Number = t.final
	for _, id := range slices.SortedFunc(maps.Keys(t.states), ledger.StateID.Compare) {
		s.Book.States = append(s.Book.States, t.states[id])
	}
	s.Book.Missing = slices.SortedFunc(maps.Values(t.missing), func(a, b book.Missing) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), slices.Compare(a.Assembled[:], b.Assembled[:]))
	})
	s.Book.Early = slices.SortedFunc(maps.Keys(t.early), ledger.StateID.Compare)
	for _, l := range t.intents {
		if _, ended := t.results[l.Sequence]; !ended {
			l.Grants = slices.Clone(l.Grants)
			s.Intents = append(s.Intents, l)
		}
	}
	for _, in := range t.order {
		s.Rows = append(s.Rows, t.rows[in])
	}
	return s, nil
}

// Write implements Store.
func (m *Memory) Write(_ context.Context, changes []Change) (twice []Twice, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range changes {
		t := m.of(c.Contract)
		if c.Sender != nil {
			for _, s := range t.owned(c.Sender) {
				twice = append(twice, Twice{c.Contract, s})
			}
		}
		t.dispatched(c)
		if c.Book != nil {
			t.settled(c.Book)
		}
	}
	return twice, nil
}

// owned writes what the owner of intents stores. A key has one row: it returns the second ones.
func (t *tables) owned(s *sender.Store) (twice []ledger.Sequence) {
	for _, row := range s.Intents {
		switch first, is := t.keys[row.Key]; {
		case is && first == row.Sequence: // it was written before
		case is:
			twice = append(twice, row.Sequence)
		default:
			t.keys[row.Key], t.place[row.Sequence] = row.Sequence, len(t.intents)
			t.intents, t.at = append(t.intents, sender.Loaded{IntentRow: row}), append(t.at, time.Now())
		}
	}
	for _, g := range s.Grants {
		at, is := t.place[g.Sequence]
		known := is && slices.ContainsFunc(t.intents[at].Grants, func(o sender.GrantRow) bool { return o.Request == g.Request && o.Assembled == g.Assembled })
		if is && !known {
			t.intents[at].Grants = append(t.intents[at].Grants, g)
			t.wholes[g.Assembled] = g.Whole
		}
	}
	for _, mark := range s.Marks {
		if at, is := t.place[mark.Sequence]; is {
			l := &t.intents[at]
			l.Failures = cmp.Or(mark.Failures, l.Failures)
			l.GivenUp = cmp.Or(mark.GivenUp, l.GivenUp)
			l.Dispatched = cmp.Or(mark.Dispatched, l.Dispatched)
			l.Over = cmp.Or(mark.Over, l.Over)
		}
	}
	for _, r := range s.Results {
		t.results[r.Sequence] = r
	}
	return twice
}

// dispatched writes what a coordinator stores.
func (t *tables) dispatched(c Change) {
	for _, r := range c.Rows {
		if _, is := t.rows[r.Entry.Intent]; is {
			t.over(r.Entry.Intent)
		}
		t.rows[r.Entry.Intent] = r
		t.order = append(t.order, r.Entry.Intent)
		t.wholes[r.Entry.Grant.Assembled] = r.Whole
	}
	for _, in := range c.Noted {
		if r, is := t.rows[in]; is {
			r.Noted = true
			t.rows[in] = r
		}
	}
	for _, in := range c.Over {
		t.over(in)
	}
}

func (t *tables) over(in ledger.Intent) {
	delete(t.rows, in)
	t.order = slices.DeleteFunc(t.order, func(x ledger.Intent) bool { return x == in })
}

// settled writes what has become final of the states.
func (t *tables) settled(c *book.Change) {
	t.final = c.Number
	for _, s := range c.Added {
		t.states[s.ID] = s
	}
	for _, id := range c.Removed {
		delete(t.states, id)
	}
	for _, one := range c.Missing {
		t.missing[one.Assembled] = one
	}
	for _, h := range c.Heard {
		delete(t.missing, h)
	}
	for _, id := range c.Early {
		t.early[id] = struct{}{}
	}
	for _, id := range c.Late {
		delete(t.early, id)
	}
	for _, l := range c.Landed {
		t.wholes[l.Assembled] = l.Whole
	}
}

// Find implements Store.
func (m *Memory) Find(_ context.Context, contract, key string) (Found, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.of(contract)
	s, is := t.keys[key]
	if !is {
		return Found{}, false, nil
	}
	return t.found(t.place[s]), true, nil
}

func (t *tables) found(place int) Found {
	row := t.intents[place].IntentRow
	r, ended := t.results[row.Sequence]
	return Found{IntentRow: row, Number: uint64(place + 1), Accepted: t.at[place], Ended: ended, Result: r}
}

// List implements Store.
func (m *Memory) List(_ context.Context, contract string, f Filter) (all []Found, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.of(contract)
	for place, l := range slices.Backward(t.intents) {
		if len(all) == cmp.Or(f.Most, mostListed) {
			break
		}
		if (f.Before == 0 || uint64(place+1) < f.Before) && (f.Sequence == ledger.Sequence{} || f.Sequence == l.Sequence) {
			all = append(all, t.found(place))
		}
	}
	return all, nil
}

// mostListed is how many intents are listed unless a Filter says another number.
const mostListed = 100

// Attempts implements Store.
func (m *Memory) Attempts(_ context.Context, contract string, assembled []ledger.Hash) (found []wire.Whole, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.of(contract)
	for _, h := range assembled {
		if w, is := t.wholes[h]; is {
			found = append(found, w)
		}
	}
	return found, nil
}
