package book

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// letters is a domain whose labels are the first letters of the contents.
type letters struct{ domain.Rules }

func (letters) Label(state []byte) string {
	if state[0] == 'z' {
		panic("z has no label")
	}
	return string(state[:1])
}

var (
	fake = model.Fake{}
	deal = ledger.Contract{
		Chain: 1, Address: "0xc0ffee", Members: []ledger.Account{"alice", "bob"}, Committee: []ledger.Account{"alice"},
		Needed: 1, Range: 10, Depth: 3, Life: 6, Domain: "letters/1",
	}
)

func open(t testing.TB, most int) *Book {
	t.Helper()
	b, err := New(Config{Contract: deal, Scheme: fake, Rules: letters{}, Most: most})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// P12, P36: whatever is heard early, late or never, and however the chain goes back, a book is the same as one that is
// computed anew from the chain and from what was heard. So is one that begins with what was stored.
func TestRandomWorlds(t *testing.T) {
	t.Parallel()
	seeds, steps := uint64(16), 250
	if runtest.Nightly() {
		seeds, steps = 2000, 2000
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed)
			for range steps {
				w.step()
				w.compare()
			}
			if w.landed < 10 || w.rewinds < 3 || w.late < 5 || w.restarts+int(seed%4) == 0 {
				t.Errorf("%d landed, %d were heard late, %d rewinds, %d restarts: a world without one of these proves little", w.landed, w.late, w.rewinds, w.restarts)
			}
		})
	}
}

// world is a contract, one node's book of it, and the plain truth.
type world struct {
	*testing.T
	chance *rand.Rand
	book   *Book
	model  *model.Model
	chain  []ledger.Block
	all    []wire.Whole // every attempt that was ever made
	states []ledger.StateID
	disk   Snapshot
	truth  truth

	landed, late, rewinds, restarts int
	stored                          map[ledger.StateID]bool // what the truth said of gone ones when it was stored
	spent                           map[ledger.Hash]bool    // the attempts whose contents may go, as it was stored
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{T: t, chance: rand.New(rand.NewPCG(seed, 1)), model: model.New(deal, fake), spent: map[ledger.Hash]bool{}}
	w.begin(1 + w.chance.IntN(40))
	return w
}

func (w *world) begin(most int) {
	w.book = open(w, most)
	w.truth = truth{most: most, heard: map[ledger.Hash]uint64{}, know: map[ledger.Hash]wire.Whole{}, gone: map[ledger.StateID]bool{}}
}

func (w *world) step() {
	switch n := w.chance.IntN(100); {
	case n < 30:
		w.make()
	case n < 60 && len(w.all) > 0:
		w.hear(w.all[max(0, len(w.all)-1-w.chance.IntN(60))])
	case n < 65:
		for _, m := range w.book.Missing() {
			if w.chance.IntN(2) == 0 {
				w.hear(w.attempt(m.Assembled))
			}
		}
	case n < 88:
		w.mine()
	case n < 93:
		w.rewind()
	case n < 94:
		w.gone()
	case n < 98:
		w.store()
	default:
		w.restart()
	}
}

// make has somebody assemble an attempt over states that are there, in flight or long spent.
func (w *world) make() {
	a := ledger.Attempt{Intent: ledger.Intent{Owner: deal.Members[w.chance.IntN(2)], Sequence: ledger.Sequence{Counter: uint64(w.chance.IntN(len(w.all) + 5))}}}
	whole := wire.Whole{Payload: []byte{byte(len(w.all))}}
	a.Payload = domain.PayloadHash(whole.Payload)
	there := w.model.States()
	for range w.chance.IntN(4) {
		var id ledger.StateID
		switch {
		case len(there) > 0 && w.chance.IntN(3) > 0:
			id = there[w.chance.IntN(len(there))]
		case len(w.states) > 0:
			id = w.states[max(0, len(w.states)-1-w.chance.IntN(20))]
		default:
			continue
		}
		if !slices.Contains(a.Inputs, id) && !slices.Contains(a.Reads, id) {
			if w.chance.IntN(4) > 0 {
				a.Inputs = append(a.Inputs, id)
			} else {
				a.Reads = append(a.Reads, id)
			}
		}
	}
	slices.SortFunc(a.Inputs, ledger.StateID.Compare)
	slices.SortFunc(a.Reads, ledger.StateID.Compare)
	for i := range w.chance.IntN(4) {
		secret := domain.Secret{Salt: [16]byte{byte(i), byte(len(w.all))}, Data: []byte{"abcz"[w.chance.IntN(4)]}}
		whole.Outputs, a.Outputs = append(whole.Outputs, secret), append(a.Outputs, secret.Commitment())
	}
	whole.Attempt = a
	w.all = append(w.all, whole)
	for i := range a.Outputs {
		w.states = append(w.states, fake.State(fake.Assembled(deal, a), i))
	}
}

func (w *world) attempt(assembled ledger.Hash) wire.Whole {
	return w.all[slices.IndexFunc(w.all, func(one wire.Whole) bool { return fake.Assembled(deal, one.Attempt) == assembled })]
}

func (w *world) hear(one wire.Whole) {
	h, err := w.book.Hear(one)
	if err != nil || h != fake.Assembled(deal, one.Attempt) {
		w.Fatalf("heard %v with error %v", h, err)
	}
	if _, is := w.truth.landedAt(w.chain, h); is {
		w.late++
	}
	w.truth.hear(w.chain, h, one)
}

// mine puts some attempts before the ledger, in any order.
func (w *world) mine() {
	var entries []ledger.Entry
	for range w.chance.IntN(5) {
		if len(w.all) == 0 {
			break
		}
		one := w.all[max(0, len(w.all)-1-w.chance.IntN(25))]
		e := ledger.Entry{Attempt: one.Attempt, Grant: ledger.Grant{Assembled: fake.Assembled(deal, one.Attempt), Coordinator: "alice", ValidUntil: 1e9}}
		e.Grant.Signature = fake.Sign(one.Attempt.Owner, fake.Granted(deal, e.Grant))
		e.Endorsements = []ledger.Endorsement{{Member: 1, Signature: fake.Sign("bob", e.Grant.Assembled)}}
		entries = append(entries, e)
	}
	sent := ledger.Sent{By: "alice", Entries: entries}
	if w.chance.IntN(10) == 0 {
		in := ledger.Intent{Owner: "bob", Sequence: ledger.Sequence{Counter: uint64(w.chance.IntN(len(w.all) + 9))}}
		sent.Cancel = &ledger.Cancellation{Intent: in, Signature: fake.Sign("bob", fake.Cancelled(deal, in))}
	}
	facts := w.model.Block(sent)
	for _, f := range facts {
		if f.Skipped == ledger.Taken && f.Assembled != (ledger.Hash{}) {
			w.landed++
		}
	}
	w.feed(ledger.Block{Number: w.model.Number(), Facts: facts})
}

func (w *world) feed(b ledger.Block) {
	if err := w.book.Block(b); err != nil {
		w.Fatal(err)
	}
	w.chain = append(w.chain[:b.Number-1:b.Number-1], b)
	w.truth.block(w.chain)
}

func (w *world) rewind() {
	head, final := w.book.Height()
	if head == final {
		return
	}
	to := final + w.chance.Uint64N(head-final)
	if err := w.book.Rewind(ledger.Rewind{To: to}); err != nil {
		w.Fatal(err)
	}
	for w.model.Number() > to {
		w.model.Revert()
	}
	gone := w.chain[to:]
	w.chain = w.chain[:to]
	w.truth.rewind(w.chain, gone)
	w.rewinds++
}

// gone tells the book of all states that the ledger has lost for good.
func (w *world) gone() {
	for _, b := range w.chain[:w.truth.final] {
		for _, f := range b.Facts {
			if f.Skipped != ledger.Taken || f.Assembled == (ledger.Hash{}) {
				continue
			}
			for _, id := range w.attempt(f.Assembled).Attempt.Inputs {
				w.truth.leaves(w.chain, id)
				w.book.Gone(id)
			}
		}
	}
}

func (w *world) store() {
	w.stored = maps.Clone(w.truth.gone)
	if c, is := w.book.Final(); is {
		w.disk.apply(w.T, c)
		for _, h := range c.Spent {
			if w.spent[h] {
				w.Fatalf("%v is named twice", h)
			}
			w.spent[h] = true
		}
	}
	w.compareSpent()
	want, late := w.truth.snapshot(w.chain), w.book.Late()
	for _, h := range late { // they are stored beside their states, until they are vouched for
		if !slices.ContainsFunc(w.disk.Missing, func(m Missing) bool { return m.Assembled == h }) || len(w.book.LeftOf(late)) < len(late) {
			w.Fatalf("%v is in doubt, and not stored so", h)
		}
		want.Missing = append(want.Missing, Missing{w.attempt(h).Attempt.Intent, h, w.landedIn(h)})
	}
	slices.SortFunc(want.Missing, func(a, b Missing) int { return slices.Compare(a.Assembled[:], b.Assembled[:]) })
	if w.chance.IntN(2) == 0 {
		w.book.Vouch(late...)
	}
	if got := w.disk; got.Number != want.Number || !slices.EqualFunc(got.States, want.States, same) || !slices.Equal(got.Missing, want.Missing) || !slices.Equal(got.Early, want.Early) {
		w.Fatalf("stored\n%v\nwant\n%v", got, want)
	}
}

// landedIn returns the block that has an attempt.
func (w *world) landedIn(h ledger.Hash) uint64 {
	at, _ := w.truth.landedAt(w.chain, h)
	return at
}

// compareSpent compares the attempts whose contents may go with those that are final and have no state left there.
func (w *world) compareSpent() {
	there, _ := w.truth.states(w.chain, w.truth.final)
	left := map[ledger.Hash]bool{}
	for _, s := range there {
		left[s.Assembled] = true
	}
	for h := range w.truth.know {
		if at, is := w.truth.landedAt(w.chain, h); is && at <= w.truth.final && w.spent[h] == left[h] {
			w.Fatalf("the contents of %v may go: %v, and a state of it is there: %v", h, w.spent[h], left[h])
		}
	}
}

// restart begins with what was stored, and reads the blocks above it again.
func (w *world) restart() {
	if w.disk.Number == 0 {
		return
	}
	stored := maps.Clone(w.truth.know)
	for h := range stored {
		if at, is := w.truth.landedAt(w.chain, h); !is || at > w.disk.Number {
			delete(stored, h)
		}
	}
	for _, m := range w.disk.Missing { // what was heard since, and not stored
		if !slices.ContainsFunc(w.disk.States, func(s domain.State) bool { return s.Assembled == m.Assembled }) {
			delete(stored, m.Assembled)
		}
	}
	w.begin(w.truth.most)
	w.truth.know, w.truth.final, w.truth.top, w.truth.gone = stored, w.disk.Number, w.disk.Number, maps.Clone(w.stored)
	if err := w.book.Load(w.disk); err != nil {
		w.Fatal(err)
	}
	for _, b := range slices.Clone(w.chain[w.disk.Number:]) {
		w.feed(b)
	}
	w.restarts++
}

func (w *world) compare() {
	there, missing := w.truth.states(w.chain, uint64(len(w.chain)))
	if got, want := w.book.Missing(), missing; !slices.Equal(got, want) {
		w.Fatalf("missing\n%v\nwant\n%v", got, want)
	}
	for label, letter := range map[string]byte{"a": 'a', "b": 'b', "c": 'c', "": 'z'} {
		var want []domain.State
		for _, s := range there {
			if s.Data[0] == letter {
				want = append(want, s)
			}
		}
		seed := w.chance.Uint64()
		begin := place(seed)
		slices.SortFunc(want, func(x, y domain.State) int {
			if begin.before(x.ID, y.ID) {
				return -1
			}
			return 1
		})
		if got := slices.Collect(w.book.Labelled(label, seed)); !slices.EqualFunc(got, want, same) {
			w.Fatalf("labelled %q\n%v\nwant\n%v", label, got, want)
		}
	}
	remembered := w.truth.remembered(w.chain)
	for _, id := range w.states[max(0, len(w.states)-80):] {
		_, want := there[id]
		if got := w.book.Unspent(id); got != want {
			w.Fatalf("%v is unspent: %v, want %v", id, got, want)
		}
	}
	known := 0
	for h, one := range w.truth.know {
		_, is := w.book.Whole(h)
		if is != remembered[h] {
			w.Fatalf("%v is remembered: %v, want %v", h, is, remembered[h])
		}
		for i := range one.Outputs {
			id := fake.State(h, i)
			_, is := w.book.Known(id)
			if want := remembered[h] || w.truth.mayReturn(w.chain, id, h); is != want {
				w.Fatalf("state %d of %v is known: %v, want %v", i, h, is, want)
			} else if is {
				known++
			}
		}
	}
	if len(w.book.states) != known || len(w.book.attempts) != len(remembered) {
		w.Fatalf("the book keeps %d states and %d attempts, want %d and %d", len(w.book.states), len(w.book.attempts), known, len(remembered))
	}
	if _, _, early := w.truth.at(w.chain, w.truth.final); len(w.book.spent) > len(early)+len(w.truth.spentAbove(w.chain)) {
		w.Fatalf("the book keeps %d spent states, want at most %d early ones and %d in blocks that are not final", len(w.book.spent), len(early), len(w.truth.spentAbove(w.chain)))
	}
}
