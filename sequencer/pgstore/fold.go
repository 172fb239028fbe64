package pgstore

import (
	"cmp"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// sum is what some changes of a contract come to: a thousand of them cost the statements of one. No row is in two of
// its statements that exclude each other, so their order does not matter, but for new intents, which come first.
type sum struct {
	contract   string
	intents    []sender.IntentRow
	intent     map[ledger.Sequence]*ending
	endings    []*ending // in the order in which they were named first
	grants     []sender.GrantRow
	granted    map[grantName]bool
	fates      map[ledger.Hash]*fate
	contents   []*fate // the same, in the order in which they were named first
	work       map[ledger.Intent]*dispatch
	dispatches []*dispatch // in the order of dispatch; those that were replaced meanwhile too
	final      *uint64
	states     changed[ledger.StateID, domain.State]
	missing    changed[ledger.Hash, book.Missing]
	early      changed[ledger.StateID, ledger.StateID]
}

// grantName is what makes a grant the same.
type grantName struct {
	ledger.Sequence
	assembled ledger.Hash
	request   wire.RequestID
}

// ending is what changes of an intent's row.
type ending struct {
	sender.Mark
	result *ledger.Result
}

// dispatch is what becomes of a row.
type dispatch struct {
	ledger.Intent
	row   *coordinator.Row // nil: it is there already, or it was
	noted bool
	over  bool
}

// fate is what becomes of the contents of an attempt.
type fate struct {
	assembled ledger.Hash
	whole     *wire.Whole // nil: they are there already, or they were
	landed    bool
	undone    bool // it is not landed any more
	done      need
}

// need is what is known about the needs that name contents.
type need uint8

const (
	asBefore need = iota // what a dispatch or an open intent's grant names is needed anyway
	loose                // by nobody, unless it has landed
	done                 // by nobody
)

// changed is rows that come and go: the last word counts.
type changed[K comparable, V any] struct {
	last  map[K]*V // nil: it goes
	order []K
}

func (c *changed[K, V]) set(k K, v *V) {
	if c.last == nil {
		c.last = map[K]*V{}
	}
	if _, is := c.last[k]; !is {
		c.order = append(c.order, k)
	}
	c.last[k] = v
}

// split returns what is there afterwards, and what is not.
func (c *changed[K, V]) split() (come []*V, gone []K) {
	for _, k := range c.order {
		if v := c.last[k]; v != nil {
			come = append(come, v)
		} else {
			gone = append(gone, k)
		}
	}
	return come, gone
}

// fold sums changes up, for each contract, in the order in which the contracts are named first.
func fold(changes []core.Change) (all []*sum) {
	of := map[string]*sum{}
	for _, c := range changes {
		s := of[c.Contract]
		if s == nil {
			s = &sum{
				contract: c.Contract, intent: map[ledger.Sequence]*ending{}, granted: map[grantName]bool{},
				fates: map[ledger.Hash]*fate{}, work: map[ledger.Intent]*dispatch{},
			}
			of[c.Contract], all = s, append(all, s)
		}
		if c.Sender != nil {
			s.owned(c.Sender)
		}
		s.dispatched(c)
		if c.Book != nil {
			s.settled(c.Book)
		}
	}
	return all
}

func (s *sum) owned(c *sender.Store) {
	s.intents = append(s.intents, c.Intents...)
	for _, g := range c.Grants {
		name := grantName{g.Sequence, g.Grant.Assembled, g.Request}
		if !s.granted[name] { // what is stored in one statement does not see itself
			s.granted[name] = true
			s.grants = append(s.grants, g)
		}
		s.keep(g.Grant.Assembled, g.Whole)
	}
	for _, m := range c.Marks {
		e := s.ending(m.Sequence)
		e.Failures = cmp.Or(m.Failures, e.Failures)
		e.Dispatched, e.Over = cmp.Or(m.Dispatched, e.Dispatched), cmp.Or(m.Over, e.Over)
		e.GivenUp = cmp.Or(m.GivenUp, e.GivenUp)
	}
	for _, r := range c.Results {
		s.ending(r.Sequence).result = &r
	}
}

func (s *sum) ending(of ledger.Sequence) *ending {
	e := s.intent[of]
	if e == nil {
		e = &ending{Mark: sender.Mark{Sequence: of}}
		s.intent[of], s.endings = e, append(s.endings, e)
	}
	return e
}

func (s *sum) fate(of ledger.Hash) *fate {
	f := s.fates[of]
	if f == nil {
		f = &fate{assembled: of}
		s.fates[of], s.contents = f, append(s.contents, f)
	}
	return f
}

// keep stores contents: the first of a name, since its hash says what they are.
func (s *sum) keep(name ledger.Hash, w wire.Whole) *fate {
	f := s.fate(name)
	if f.whole == nil {
		f.whole = &w
	}
	return f
}

func (s *sum) dispatched(c core.Change) {
	for _, r := range c.Rows {
		s.becomes(&dispatch{Intent: r.Attempt.Intent, row: &r, noted: r.Noted})
		s.keep(r.Grant.Assembled, r.Whole)
	}
	for _, in := range c.Noted {
		if d := s.work[in]; d != nil {
			d.noted = true // of one that is over it means nothing
		} else {
			s.becomes(&dispatch{Intent: in, noted: true})
		}
	}
	for _, in := range c.Over {
		s.becomes(&dispatch{Intent: in, over: true})
	}
}

// becomes replaces what was to become of a row before.
func (s *sum) becomes(d *dispatch) {
	if was := s.work[d.Intent]; was != nil && was.row != nil { // the table never has it, and cannot say which attempt it was
		if f := s.fate(was.row.Grant.Assembled); !f.landed {
			f.done = loose
		}
	}
	s.work[d.Intent] = d
	s.dispatches = append(s.dispatches, d)
}

// last returns what becomes of rows in the end: new ones in the order of dispatch, those that are noted, those that go.
func (s *sum) last() (rows []*dispatch, noted, over []ledger.Intent) {
	for _, d := range s.dispatches {
		switch {
		case s.work[d.Intent] != d: // replaced
		case d.row != nil:
			rows = append(rows, d)
		case d.over:
			over = append(over, d.Intent)
		default:
			noted = append(noted, d.Intent)
		}
	}
	return rows, noted, over
}

func (s *sum) settled(c *book.Change) {
	s.final = &c.Number
	for _, state := range c.Added {
		s.states.set(state.ID, &state)
	}
	for _, id := range c.Removed {
		s.states.set(id, nil)
	}
	for _, m := range c.Missing {
		s.missing.set(m.Assembled, &m)
	}
	for _, h := range c.Heard {
		s.missing.set(h, nil)
	}
	for _, id := range c.Early {
		s.early.set(id, &id)
	}
	for _, id := range c.Late {
		s.early.set(id, nil)
	}
	for _, l := range c.Landed {
		f := s.keep(l.Assembled, l.Whole)
		f.landed, f.undone, f.done = true, false, asBefore
	}
	for _, h := range c.Undone {
		f := s.fate(h)
		f.landed, f.undone, f.done = false, true, done
	}
	for _, h := range c.Spent {
		s.fate(h).done = done
	}
}
