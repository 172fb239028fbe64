package notes_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
)

var (
	fake = model.Fake{}
	deal = ledger.Contract{
		Chain: 1, Address: "0xc0ffee", Members: []ledger.Account{"bank", "alice", "bob"}, Committee: []ledger.Account{"bank"},
		Needed: 1, Range: 10, Depth: 3, Life: 8, Domain: notes.Name,
	}
)

// P43, I3: members assemble on what they know and on what is in flight, out of date or not; the chain goes back and
// forth. Whatever lands, the notes that are there are worth what was issued, in the books of all.
func TestMoneyIsConserved(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		w := newWorld(t, seed)
		for range 150 {
			w.batch()
			w.block()
			if w.chance.IntN(6) == 0 {
				w.rewind()
			}
			w.judge()
		}
		if w.paid < 50 || w.lost < 10 || w.issued == 0 {
			t.Errorf("seed %d: %d payments landed, %d attempts were skipped, %d issued: too little happened", seed, w.paid, w.lost, w.issued)
		}
	}
}

type world struct {
	*testing.T
	chance     *rand.Rand
	model      *model.Model
	books      []*book.Book
	flight     []wire.Whole
	landed     map[ledger.Hash]wire.Whole
	blocks     [][]ledger.Fact
	intents    uint64
	paid, lost int
	issued     uint64
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{T: t, chance: rand.New(rand.NewPCG(seed, 5)), model: model.New(deal, fake), landed: map[ledger.Hash]wire.Whole{}}
	for range 3 {
		b, err := book.New(book.Config{Contract: deal, Scheme: fake, Rules: rules})
		if err != nil {
			t.Fatal(err)
		}
		w.books = append(w.books, b)
	}
	return w
}

// batch has a member assemble some intents, each on what those before it leave.
func (w *world) batch() {
	member := w.chance.IntN(3)
	o := book.Over(w.books[member], rules)
	for range w.chance.IntN(5) {
		purses := []string{"rent", "petty", "cleaner"}
		request := fmt.Sprintf(`{"pay":{"from":%q,"to":%q,"amount":%d}}`, purses[w.chance.IntN(3)], purses[w.chance.IntN(3)], 1+w.chance.IntN(40))
		if member == 0 && w.chance.IntN(3) == 0 {
			request = fmt.Sprintf(`{"issue":{"to":%q,"amount":%d}}`, purses[w.chance.IntN(3)], 1+w.chance.IntN(100))
		}
		in := call(deal.Members[member], request)
		w.intents++
		in.Sequence = ledger.Sequence{Counter: w.intents}
		draft, err := rules.Assemble(in, o)
		if err != nil {
			continue
		}
		if err := rules.Endorse(proposal(in, o, draft)); err != nil {
			w.Fatal(err)
		}
		whole := wire.Whole{Payload: in.Payload}
		whole.Attempt = ledger.Attempt{Intent: in.Intent, Payload: domain.PayloadHash(in.Payload), Inputs: slices.SortedFunc(slices.Values(draft.Inputs), ledger.StateID.Compare)}
		for _, data := range draft.Outputs {
			secret := domain.Secret{Data: data}
			whole.Outputs, whole.Attempt.Outputs = append(whole.Outputs, secret), append(whole.Attempt.Outputs, secret.Commitment())
		}
		w.flight = append(w.flight, whole)
		for _, id := range draft.Inputs {
			o.Hide(id)
		}
		for i, secret := range whole.Outputs {
			assembled := fake.Assembled(deal, whole.Attempt)
			o.Add(domain.State{ID: fake.State(assembled, i), Creator: in.Intent, Assembled: assembled, Secret: secret})
		}
	}
}

// block puts attempts before the ledger that were assembled lately, most of them in order. Some are never sent.
func (w *world) block() {
	var entries []ledger.Entry
	for _, whole := range w.flight {
		if w.chance.IntN(3) == 0 {
			continue
		}
		e := ledger.Entry{Attempt: whole.Attempt, Grant: ledger.Grant{Assembled: fake.Assembled(deal, whole.Attempt), Coordinator: "bank", ValidUntil: w.model.Number() + deal.Life}}
		e.Grant.Signature = fake.Sign(whole.Attempt.Owner, fake.Granted(deal, e.Grant))
		e.Endorsements = []ledger.Endorsement{{Member: 1, Signature: fake.Sign("alice", e.Grant.Assembled)}}
		entries = append(entries, e)
		w.landed[e.Grant.Assembled] = whole
	}
	w.flight = w.flight[max(0, len(w.flight)-4):]
	if w.chance.IntN(4) == 0 {
		slices.Reverse(entries)
	}
	facts := w.model.Block(ledger.Sent{By: "bank", Entries: entries})
	w.blocks = append(w.blocks, facts)
	for _, b := range w.books {
		if err := b.Block(ledger.Block{Number: w.model.Number(), Facts: facts}); err != nil {
			w.Fatal(err)
		}
		for _, m := range b.Missing() {
			if _, err := b.Hear(w.landed[m.Assembled]); err != nil {
				w.Fatal(err)
			}
		}
	}
}

func (w *world) rewind() {
	head, final := w.books[0].Height()
	to := head - w.chance.Uint64N(head-final+1)
	for w.model.Number() > to {
		w.model.Revert()
		w.blocks = w.blocks[:len(w.blocks)-1]
	}
	for _, b := range w.books {
		if err := b.Rewind(ledger.Rewind{To: to}); err != nil {
			w.Fatal(err)
		}
	}
}

// judge compares what is there with what was issued.
func (w *world) judge() {
	w.issued, w.paid, w.lost = 0, 0, 0
	for _, facts := range w.blocks {
		for _, f := range facts {
			whole := w.landed[f.Assembled]
			switch {
			case f.Skipped != ledger.Taken:
				w.lost++
			case len(whole.Attempt.Inputs) > 0:
				w.paid++
			default:
				n, err := notes.ParseNote(whole.Outputs[0].Data)
				if err != nil {
					w.Fatal(err)
				}
				w.issued += n.Amount
			}
		}
	}
	for i, b := range w.books {
		there, count := uint64(0), 0
		for _, purse := range []string{"rent", "petty", "cleaner"} {
			for s := range b.Labelled(purse, 0) {
				n, err := notes.ParseNote(s.Data)
				if err != nil || !w.model.Unspent(s.ID) {
					w.Fatalf("book %d has the note %q, which is not there (error %v)", i, s.Data, err)
				}
				there, count = there+n.Amount, count+1
			}
		}
		if there != w.issued || count != len(w.model.States()) {
			w.Fatalf("book %d: %d notes worth %d, want %d worth %d", i, count, there, len(w.model.States()), w.issued)
		}
	}
}
