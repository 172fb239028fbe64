package book

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// ErrMalformed is in the error of what no honest member sends: it can never land, or its contents are not those that it
// commits to.
var ErrMalformed = errors.New("malformed attempt")

// Config describes a book.
type Config struct {
	Contract  ledger.Contract
	Scheme    ledger.Scheme
	Rules     domain.Rules
	Most      int // attempts that have not landed; 100,000 if 0
	MostBytes int // that they take together; 256 MiB if 0, and wire.MostAttempt at least
}

// Book is what a node knows of the states of a contract. It is a domain.View of what is unspent at the head.
type Book struct {
	Config
	attempts map[ledger.Hash]*attempt // that are remembered
	waiting  *list.List               // those that have not landed, the one heard longest ago first
	bytes    int                      // of those
	states   map[ledger.StateID]*entry
	labels   index                   // the states that are there
	spent    map[ledger.StateID]bool // by an attempt that is known, on the chain; true if that is final, or it is Gone
	landed   map[ledger.Hash]landing // on the chain, in blocks that are not final or not known
	missing  map[ledger.Hash]bool    // those that are not known
	left     map[ledger.Hash]int     // how many states of a final attempt are there still, none of them 0
	blocks   []block                 // that are not final, the oldest first
	began    bool
	forgone  bool                             // an attempt was given up
	late     map[ledger.Hash][]ledger.StateID // see Late: what is left of each
	worked   bool                             // an attempt was heard, or has landed, since it rested
	head     uint64
	top      uint64 // the highest head ever: the clock by which attempts are forgotten
	final    uint64
	told     uint64 // the final block of the last Change
	change   changes
}

// attempt is one that was heard.
type attempt struct {
	wire.Whole
	assembled ledger.Hash
	states    []ledger.StateID // that it creates
	heard     uint64           // the highest head when it was last heard
	waits     *list.Element    // its place in the line, nil if it has landed
}

// entry is a state whose contents are known.
type entry struct {
	domain.State
	label  string
	landed bool // its creator is on the chain
	held   bool // its creator is remembered
}

// landing is where an attempt has landed.
type landing struct {
	ledger.Intent
	number uint64
}

// New returns an empty book, which knows no block yet.
func New(c Config) (*Book, error) {
	c.Most, c.MostBytes = cmp.Or(c.Most, 100_000), cmp.Or(c.MostBytes, 256<<20)
	f := faults.List{Of: "book: "}
	f.Join(c.Contract.Validate())
	f.Add(c.Scheme == nil || c.Rules == nil, "it needs the contract's scheme and rules")
	f.Add(c.Most < 0, "it cannot remember %d attempts", c.Most)
	f.Add(c.MostBytes < wire.MostAttempt, "%d bytes have no room for an attempt, which may have %d", c.MostBytes, wire.MostAttempt)
	return &Book{
		Config: c, attempts: map[ledger.Hash]*attempt{}, waiting: list.New(), states: map[ledger.StateID]*entry{}, labels: index{},
		spent: map[ledger.StateID]bool{}, landed: map[ledger.Hash]landing{}, missing: map[ledger.Hash]bool{},
		left: map[ledger.Hash]int{}, late: map[ledger.Hash][]ledger.StateID{}, change: newChanges(),
	}, f.All()
}

// Hear takes an attempt with its contents, and returns its name. Hearing it again is harmless, and keeps it remembered.
// The error is ErrMalformed; the name is returned with it. The book keeps the slices: they must not change any more.
func (b *Book) Hear(w wire.Whole) (assembled ledger.Hash, err error) {
	assembled = b.Scheme.Assembled(b.Contract, w.Attempt)
	if err := b.check(w); err != nil { // also of a known one: the caller goes on to judge these contents
		return assembled, err
	}
	if a := b.attempts[assembled]; a != nil {
		b.hearAgain(a)
		return assembled, nil
	}
	b.worked = true
	a := &attempt{Whole: w, assembled: assembled}
	b.remember(a)
	at, has := b.landed[assembled]
	if !has {
		b.wait(a)
		return assembled, nil
	}
	delete(b.missing, assembled)
	b.apply(a)
	if at.number <= b.final {
		b.settle(a)
		b.doubt(a)
	}
	return assembled, nil
}

// check compares an attempt with the rules of the ledger and its contents with what it commits to.
func (b *Book) check(w wire.Whole) error {
	switch a := w.Attempt; {
	case !slices.Contains(b.Contract.Members, a.Owner):
		return fmt.Errorf("%w: its owner %v is no member", ErrMalformed, a.Owner)
	case !a.WellFormed():
		return fmt.Errorf("%w: its inputs or reads are not strictly rising, or a read is an input", ErrMalformed)
	case domain.PayloadHash(w.Payload) != a.Payload:
		return fmt.Errorf("%w: it is for another payload", ErrMalformed)
	case len(w.Outputs) != len(a.Outputs):
		return fmt.Errorf("%w: it commits to %d outputs and comes with %d", ErrMalformed, len(a.Outputs), len(w.Outputs))
	}
	for i, o := range w.Outputs {
		if o.Commitment() != w.Attempt.Outputs[i] {
			return fmt.Errorf("%w: output %d is not the one that it commits to", ErrMalformed, i)
		}
	}
	return nil
}

// Whole returns an attempt that is remembered.
func (b *Book) Whole(assembled ledger.Hash) (wire.Whole, bool) {
	if a := b.attempts[assembled]; a != nil {
		return a.Whole, true
	}
	return wire.Whole{}, false
}

// Known returns a state whose contents are known, whether it is there, spent or yet to be created.
func (b *Book) Known(id ledger.StateID) (domain.State, bool) {
	if e := b.states[id]; e != nil {
		return e.State, true
	}
	return domain.State{}, false
}

// State implements domain.View.
func (b *Book) State(id ledger.StateID) (domain.State, bool) {
	if e := b.states[id]; e != nil && b.there(e) {
		return e.State, true
	}
	return domain.State{}, false
}

// Unspent reports whether a state is there.
func (b *Book) Unspent(id ledger.StateID) bool {
	_, is := b.State(id)
	return is
}

// Decided reports whether an attempt has landed, or a state that it spends or reads was spent by another, as far as the
// book remembers: in a block that is not final, or as it was told by Gone.
func (b *Book) Decided(assembled ledger.Hash, a ledger.Attempt) bool {
	if _, landed := b.landed[assembled]; landed {
		return true
	}
	for _, states := range [][]ledger.StateID{a.Inputs, a.Reads} {
		for _, id := range states {
			if _, spent := b.spent[id]; spent {
				return true
			}
		}
	}
	return false
}

// States returns the names of all that is there, sorted.
func (b *Book) States() []ledger.StateID {
	var all []ledger.StateID
	for id, e := range b.states {
		if b.there(e) {
			all = append(all, id)
		}
	}
	slices.SortFunc(all, ledger.StateID.Compare)
	return all
}

// Labelled implements domain.View. The order is that of the names, as a circle, from a place drawn from the seed. The
// book must not be fed while it is used.
func (b *Book) Labelled(label string, seed uint64) iter.Seq[domain.State] {
	return func(yield func(domain.State) bool) {
		for c := b.labels[label].from(place(seed)); c.state() != nil; c = c.next() {
			if !yield(*c.state()) {
				return
			}
		}
	}
}

// Idle reports whether all that is known is final: nothing is missing or in doubt, and no attempt is on its way or may be. What a
// store has of an idle book is all of it.
func (b *Book) Idle() bool { return len(b.attempts)+len(b.landed)+len(b.late) == 0 }

// Height returns the last block and the last final one, 0 if none is known.
func (b *Book) Height() (head, final uint64) { return b.head, b.final }

func (b *Book) there(e *entry) bool {
	_, spent := b.spent[e.ID]
	return e.landed && !spent
}
