package committee

import (
	"cmp"
	"maps"
	"slices"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// database is what a node has stored: all that survives its death.
type database struct {
	final   uint64
	states  map[ledger.StateID]domain.State
	missing map[ledger.Hash]book.Missing
	early   map[ledger.StateID]bool

	intents []sender.Loaded // open or not, in the order of submission
	place   map[ledger.Sequence]int
	results map[ledger.Sequence]sender.Result
	wholes  map[ledger.Hash]wire.Whole // granted or landed, for members that lack them

	submitted map[ledger.Hash]bool // for the judge
	rows      map[ledger.Intent]coordinator.Row
	order     []ledger.Intent // of their dispatch
}

func newDatabase() *database {
	return &database{
		states: map[ledger.StateID]domain.State{}, missing: map[ledger.Hash]book.Missing{}, early: map[ledger.StateID]bool{},
		place: map[ledger.Sequence]int{}, results: map[ledger.Sequence]sender.Result{}, wholes: map[ledger.Hash]wire.Whole{},
		rows: map[ledger.Intent]coordinator.Row{}, submitted: map[ledger.Hash]bool{},
	}
}

// copied returns a backup.
func (d *database) copied() *database {
	c := *d
	c.states, c.missing, c.early = maps.Clone(d.states), maps.Clone(d.missing), maps.Clone(d.early)
	c.intents, c.place, c.results, c.wholes = slices.Clone(d.intents), maps.Clone(d.place), maps.Clone(d.results), maps.Clone(d.wholes)
	for i := range c.intents {
		c.intents[i].Grants = slices.Clone(c.intents[i].Grants)
	}
	c.rows, c.order = maps.Clone(d.rows), slices.Clone(d.order)
	return &c
}

// load returns what is stored.
func (d *database) load() core.Stored {
	s := book.Snapshot{Number: d.final}
	for _, id := range slices.SortedFunc(maps.Keys(d.states), ledger.StateID.Compare) {
		s.States = append(s.States, d.states[id])
	}
	s.Missing = slices.SortedFunc(maps.Values(d.missing), func(x, y book.Missing) int {
		return cmp.Or(cmp.Compare(x.Number, y.Number), slices.Compare(x.Assembled[:], y.Assembled[:]))
	})
	s.Early = slices.SortedFunc(maps.Keys(d.early), ledger.StateID.Compare)
	return core.Stored{Book: s, Intents: d.open(), Rows: d.dispatches()}
}

// write is one transaction.
func (d *database) write(c core.Change) (twice []core.Twice) {
	if c.Book != nil {
		d.settle(*c.Book)
	}
	d.dispatch(c.Rows)
	d.note(c.Noted)
	d.forget(c.Over)
	if c.Sender == nil {
		return nil
	}
	for _, s := range d.storeSender(*c.Sender) {
		twice = append(twice, core.Twice{Contract: c.Contract, Sequence: s})
	}
	return twice
}

// settle stores what has become final, and what has landed.
func (d *database) settle(c book.Change) {
	d.final = c.Number
	for _, s := range c.Added {
		d.states[s.ID] = s
	}
	for _, id := range c.Removed {
		delete(d.states, id)
	}
	for _, m := range c.Missing {
		d.missing[m.Assembled] = m
	}
	for _, h := range c.Heard {
		delete(d.missing, h)
	}
	for _, id := range c.Early {
		d.early[id] = true
	}
	for _, id := range c.Late {
		delete(d.early, id)
	}
	for _, l := range c.Landed {
		d.wholes[l.Assembled] = l.Whole
	}
}

// storeSender stores what a sender does. A key has one row: the second one is not stored.
func (d *database) storeSender(s sender.Store) (twice []ledger.Sequence) {
	for _, row := range s.Intents {
		if first := d.find(row.Key); first != nil {
			if first.Sequence != row.Sequence { // else it was written before
				twice = append(twice, row.Sequence)
			}
			continue
		}
		d.place[row.Sequence] = len(d.intents)
		d.intents = append(d.intents, sender.Loaded{IntentRow: row})
	}
	for _, g := range s.Grants {
		at := &d.intents[d.place[g.Sequence]]
		if !slices.ContainsFunc(at.Grants, func(x sender.GrantRow) bool { return x.Request == g.Request && x.Assembled == g.Assembled }) {
			at.Grants = append(at.Grants, g)
		}
		d.wholes[g.Assembled] = g.Whole
	}
	for _, m := range s.Marks {
		at := &d.intents[d.place[m.Sequence]]
		at.Failures = max(at.Failures, m.Failures)
		at.GivenUp = cmp.Or(m.GivenUp, at.GivenUp)
		at.Dispatched = cmp.Or(m.Dispatched, at.Dispatched)
		at.Over = cmp.Or(m.Over, at.Over)
	}
	for _, r := range s.Results {
		d.results[r.Sequence] = r
	}
	return twice
}

// open returns the intents without a result.
func (d *database) open() (open []sender.Loaded) {
	for _, l := range d.intents {
		if _, over := d.results[l.Sequence]; !over {
			open = append(open, l)
		}
	}
	return open
}

func (d *database) dispatch(rows []coordinator.Row) {
	for _, r := range rows {
		if _, is := d.rows[r.Entry.Intent]; !is {
			d.order = append(d.order, r.Entry.Intent)
		}
		d.rows[r.Entry.Intent] = r
	}
}

func (d *database) note(intents []ledger.Intent) {
	for _, in := range intents {
		if r, is := d.rows[in]; is {
			r.Noted = true
			d.rows[in] = r
		}
	}
}

func (d *database) forget(intents []ledger.Intent) {
	for _, in := range intents {
		delete(d.rows, in)
		d.order = slices.DeleteFunc(d.order, func(x ledger.Intent) bool { return x == in })
	}
}

func (d *database) dispatches() (rows []coordinator.Row) {
	for _, in := range d.order {
		rows = append(rows, d.rows[in])
	}
	return rows
}

// attempts returns the contents that are stored.
func (d *database) attempts(named []ledger.Hash) (all []wire.Whole) {
	for _, h := range named {
		if w, is := d.wholes[h]; is {
			all = append(all, w)
		}
	}
	return all
}

// find returns the intent with a key, nil if there is none.
func (d *database) find(key string) *sender.IntentRow {
	for _, l := range d.intents {
		if l.Key == key {
			return &l.IntentRow
		}
	}
	return nil
}
