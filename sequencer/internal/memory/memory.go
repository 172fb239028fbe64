// Package memory is a store in memory: tests and examples have it by package sequencertest, and the simulated world for its nodes.
package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Store is a node's database in memory. It is safe for concurrent use, and no call fails.
type Store struct {
	mu        sync.Mutex
	contracts map[string]*tables
}

// tables are those of one contract.
type tables struct {
	final   uint64
	states  map[ledger.StateID]domain.State
	missing map[ledger.Hash]book.Missing
	early   map[ledger.StateID]struct{}

	last     uint64 // the number of the newest intent
	numbered []*intent
	intents  map[ledger.Sequence]*intent
	keys     map[string]ledger.Sequence
	wholes   map[ledger.Hash]*kept

	rows  map[ledger.Intent]coordinator.Row
	order []ledger.Intent
}

// intent is one of the node's users, also one that has ended.
type intent struct {
	sender.Loaded

	number uint64 // in the order of submission
	at     time.Time
	ended  time.Time // zero: it is open
	result ledger.Result
}

// kept is the contents of an attempt.
type kept struct {
	wire.Whole

	landed bool
	done   time.Time // since when nobody needs them, as far as is known; zero: somebody may
}

// New returns an empty store.
func New() *Store { return &Store{contracts: map[string]*tables{}} }

func (m *Store) of(contract string) *tables {
	t := m.contracts[contract]
	if t == nil {
		t = &tables{
			states: map[ledger.StateID]domain.State{}, missing: map[ledger.Hash]book.Missing{}, early: map[ledger.StateID]struct{}{},
			intents: map[ledger.Sequence]*intent{}, keys: map[string]ledger.Sequence{}, wholes: map[ledger.Hash]*kept{}, rows: map[ledger.Intent]coordinator.Row{},
		}
		m.contracts[contract] = t
	}
	return t
}

// Load implements sequencer.Store.
func (m *Store) Load(_ context.Context, contract string) (core.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var s core.Stored
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
	for _, o := range t.numbered {
		if o.ended.IsZero() {
			l := o.Loaded
			l.Grants = slices.Clone(l.Grants)
			s.Intents = append(s.Intents, l)
		}
	}
	for _, in := range t.order {
		s.Rows = append(s.Rows, t.rows[in])
	}
	return s, nil
}

// Write implements sequencer.Store.
func (m *Store) Write(_ context.Context, changes []core.Change) (twice []core.Twice, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range changes {
		t := m.of(c.Contract)
		if c.Sender != nil {
			for _, s := range t.owned(c.Sender) {
				twice = append(twice, core.Twice{Contract: c.Contract, Sequence: s})
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
			t.last++
			o := &intent{Loaded: sender.Loaded{IntentRow: row}, number: t.last, at: time.Now()}
			t.keys[row.Key], t.intents[row.Sequence], t.numbered = row.Sequence, o, append(t.numbered, o)
		}
	}
	for _, g := range s.Grants {
		o := t.intents[g.Sequence]
		if o != nil && !slices.ContainsFunc(o.Grants, func(x sender.GrantRow) bool { return x.Request == g.Request && x.Assembled == g.Assembled }) {
			o.Grants = append(o.Grants, g)
		}
		t.keep(g.Assembled, g.Whole)
	}
	for _, mark := range s.Marks {
		if o := t.intents[mark.Sequence]; o != nil {
			o.Failures = cmp.Or(mark.Failures, o.Failures)
			o.GivenUp = cmp.Or(mark.GivenUp, o.GivenUp)
			o.Dispatched = cmp.Or(mark.Dispatched, o.Dispatched)
			o.Over = cmp.Or(mark.Over, o.Over)
		}
	}
	for _, r := range s.Results {
		if o := t.intents[r.Sequence]; o != nil {
			if o.result = r; o.ended.IsZero() {
				o.ended = time.Now()
			}
		}
	}
	return twice
}

// keep stores contents.
func (t *tables) keep(assembled ledger.Hash, w wire.Whole) *kept {
	k := t.wholes[assembled]
	if k == nil {
		k = &kept{Whole: w}
		t.wholes[assembled] = k
	}
	return k
}

// dispatched writes what a coordinator stores.
func (t *tables) dispatched(c core.Change) {
	for _, r := range c.Rows {
		if _, is := t.rows[r.Attempt.Intent]; is {
			t.over(r.Attempt.Intent)
		}
		t.rows[r.Attempt.Intent] = r
		t.order = append(t.order, r.Attempt.Intent)
		t.keep(r.Grant.Assembled, r.Whole)
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
	if k := t.wholes[t.rows[in].Grant.Assembled]; k != nil && !k.landed {
		k.done = time.Now()
	}
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
		k := t.keep(l.Assembled, l.Whole)
		k.landed, k.done = true, time.Time{}
	}
	for _, h := range c.Undone {
		if k := t.wholes[h]; k != nil {
			k.landed, k.done = false, time.Now()
		}
	}
	for _, h := range c.Spent {
		if k := t.wholes[h]; k != nil {
			k.done = time.Now()
		}
	}
}

// Find implements sequencer.Store.
func (m *Store) Find(_ context.Context, contract, key string) (sequencer.Found, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.of(contract)
	s, is := t.keys[key]
	if !is {
		return sequencer.Found{}, false, nil
	}
	return t.intents[s].found(), true, nil
}

func (o *intent) found() sequencer.Found {
	return sequencer.Found{
		Sequence: o.Sequence, Key: o.Key, Payload: o.Payload, Deadline: o.Deadline,
		Number: o.number, Accepted: o.at, Ended: !o.ended.IsZero(), Result: o.result,
	}
}

// List implements sequencer.Store.
func (m *Store) List(_ context.Context, contract string, f sequencer.Filter) (all []sequencer.Found, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range slices.Backward(m.of(contract).numbered) {
		if len(all) == cmp.Or(f.Most, mostListed) {
			break
		}
		if (f.Before == 0 || o.number < f.Before) && (f.Sequence == ledger.Sequence{} || f.Sequence == o.Sequence) {
			all = append(all, o.found())
		}
	}
	return all, nil
}

// mostListed is how many intents are listed unless a Filter says another number.
const mostListed = 100

// Attempts implements sequencer.Store.
func (m *Store) Attempts(_ context.Context, contract string, assembled []ledger.Hash) (found []wire.Whole, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.of(contract)
	for _, h := range assembled {
		if k := t.wholes[h]; k != nil {
			found = append(found, k.Whole)
		}
	}
	return found, nil
}

// Rows counts what is kept.
func (m *Store) Rows() (intents, grants, attempts, states, others int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.contracts {
		intents += len(t.intents)
		for _, o := range t.intents {
			grants += len(o.Grants)
		}
		attempts += len(t.wholes)
		states += len(t.states)
		others += len(t.missing) + len(t.early) + len(t.rows)
	}
	return intents, grants, attempts, states, others
}
