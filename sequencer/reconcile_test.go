package sequencer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/book"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/ledger/ledgertest"
	"github.com/conchhq/conch/sequencer/wire"
)

// labelled is a domain whose states have one label.
type labelled struct{ domain.Rules }

func (labelled) Label([]byte) string { return "note" }

// asOf is a ledger as it was after a final block.
type asOf struct {
	Ledger

	number  uint64
	unspent map[ledger.StateID]bool
}

func (a asOf) Final(context.Context, []ledger.Intent, []ledger.StateID) (ledger.Final, error) {
	return ledger.Final{View: a}, nil
}
func (a asOf) Number() uint64                                                 { return a.number }
func (a asOf) Landed(ledger.Intent) (assembled, payload ledger.Hash, is bool) { return }
func (a asOf) Unspent(s ledger.StateID) bool                                  { return a.unspent[s] }

// P12: what a ledger no longer has is spent, and what it does not have yet is not. An answer may be of a block before the
// one that creates a state: that was on its way when the node asked, or the endpoint is behind. Such a state was taken out
// for ever, and the node neither saw nor endorsed anything that spends it.
func TestAStateThatIsNotThereYetIsNotGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked  uint64 // the head when the ledger is asked
		number uint64 // the final block of the answer
		gone   bool
	}{
		"its creator becomes final before the answer comes": {asked: 4, number: 2},
		"the endpoint is behind":                            {asked: 9, number: 2},
		"the endpoint is one block behind":                  {asked: 6, number: 2},
		"an answer of the block that has its creator":       {asked: 6, number: 3, gone: true},
		"an answer of the node's own final block":           {asked: 9, number: 6, gone: true},
		"a later one": {asked: 9, number: 8, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			declared := ledger.Contract{
				Chain: 1, Address: "k", Members: []ledger.Account{"alice"}, Committee: []ledger.Account{"alice"}, Needed: 1, Range: 10, Depth: 3, Life: 6, Domain: "d",
			}
			b, err := book.New(book.Config{Contract: declared, Scheme: ledgertest.Fake{}, Rules: labelled{}})
			if err != nil {
				t.Fatal(err)
			}
			secret := domain.Secret{Data: []byte("money")}
			a := ledger.Attempt{
				Intent: ledger.Intent{Owner: "alice", Sequence: ledger.Sequence{Counter: 1}}, Payload: domain.PayloadHash([]byte("p")),
				Outputs: []ledger.Hash{secret.Commitment()},
			}
			assembled, err := b.Hear(wire.Whole{Attempt: a, Payload: []byte("p"), Outputs: []domain.Secret{secret}})
			if err != nil {
				t.Fatal(err)
			}
			node := &contract{
				n:    &Node{ctx: ctx, cfg: Config{Log: slog.New(slog.DiscardHandler)}, tasks: make(chan func(), 1), writes: make(chan write, 9), outages: newOutages()},
				set:  &Contract{Declared: declared, Ledger: asOf{number: c.number}},
				book: b, ctx: ctx,
			}
			block := func(n uint64) {
				in := ledger.Block{Number: n}
				if n == 3 { // final with block 6
					in.Facts = []ledger.Fact{{Intent: a.Intent, Payload: a.Payload, Assembled: assembled}}
				}
				if err := b.Block(in); err != nil {
					t.Fatal(err)
				}
			}
			for n := uint64(1); n <= c.asked; n++ {
				block(n)
			}
			node.reconcile(b.States(), nil)
			for n := c.asked + 1; n <= 9; n++ {
				block(n)
			}
			node.n.group.Wait()
			select {
			case do := <-node.n.tasks:
				do()
			default: // it has seen that the answer is of no use
			}
			if id := (ledgertest.Fake{}).State(assembled, 0); slices.Contains(b.States(), id) == c.gone {
				t.Errorf("the states are %v, want %v gone: %t", b.States(), id, c.gone)
			}
		})
	}
}

// registry is a ledger in which attempts have left states, and which notes how large each question is.
type registry struct {
	Ledger

	mu      sync.Mutex
	unspent map[ledger.StateID]bool
	asked   []int
	fails   int // which question has no answer; 0: none
}

func (r *registry) Final(_ context.Context, _ []ledger.Intent, states []ledger.StateID) (ledger.Final, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked = append(r.asked, len(states)); len(r.asked) == r.fails {
		return ledger.Final{}, errors.New("the endpoint is away")
	}
	return ledger.Final{View: asOf{number: 9, unspent: r.unspent}}, nil
}

// absentee is a member that was away while attempts landed, the ledger's block 9 of which is final.
type absentee struct {
	*contract

	t       *testing.T
	chain   *registry
	attempt []wire.Whole
}

func newAway(t *testing.T, count int) *absentee {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	declared := ledger.Contract{
		Chain: 1, Address: "k", Members: []ledger.Account{"alice"}, Committee: []ledger.Account{"alice"}, Needed: 1, Range: 10, Depth: 3, Life: 6, Domain: "d",
	}
	b, err := book.New(book.Config{Contract: declared, Scheme: ledgertest.Fake{}, Rules: labelled{}})
	if err != nil {
		t.Fatal(err)
	}
	a := &absentee{t: t, chain: &registry{unspent: map[ledger.StateID]bool{}}}
	a.contract = &contract{
		n:    &Node{ctx: ctx, cfg: Config{Log: slog.New(slog.DiscardHandler)}, tasks: make(chan func(), 9), writes: make(chan write, 1000), outages: newOutages()},
		set:  &Contract{Declared: declared, Ledger: a.chain},
		book: b, ctx: ctx,
	}
	in := ledger.Block{Number: 1}
	for i := range count {
		secret := domain.Secret{Data: []byte("money")}
		w := wire.Whole{Attempt: ledger.Attempt{
			Intent: ledger.Intent{Owner: "alice", Sequence: ledger.Sequence{Counter: uint64(i + 1)}}, Payload: domain.PayloadHash([]byte("p")),
			Outputs: []ledger.Hash{secret.Commitment()},
		}, Payload: []byte("p"), Outputs: []domain.Secret{secret}}
		if i == 1 {
			w.Attempt.Inputs = []ledger.StateID{a.state(0)}
		}
		a.attempt = append(a.attempt, w)
		in.Facts = append(in.Facts, ledger.Fact{Intent: w.Attempt.Intent, Payload: w.Attempt.Payload, Assembled: a.named(i)})
	}
	for ; in.Number <= 9; in = (ledger.Block{Number: in.Number + 1}) {
		if err := b.Block(in); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func (a *absentee) named(i int) ledger.Hash {
	return ledgertest.Fake{}.Assembled(a.set.Declared, a.attempt[i].Attempt)
}

func (a *absentee) state(i int) ledger.StateID { return ledgertest.Fake{}.State(a.named(i), 0) }

// round asks the ledger as fetch does, and does what comes of it. Meanwhile is done before the first answer.
func (a *absentee) round(meanwhile func()) {
	a.t.Helper()
	missing := a.book.Missing()
	a.reconcile(a.book.States(), missing)
	a.reconcile(a.book.States(), missing) // the next round begins before the end of this one
	meanwhile()
	a.settle()
}

// settle does what comes of questions.
func (a *absentee) settle() {
	a.t.Helper()
	for a.n.group.Wait(); len(a.n.tasks) > 0; a.n.group.Wait() {
		(<-a.n.tasks)()
	}
	if a.doubting {
		a.t.Fatal("it is done and goes on")
	}
}

// Q14: whatever nobody has any more, and nobody needs, is given up in one round, however much it is, in questions of a
// bounded size. Ten thousand attempts at eight a round, of a minute each, were not given up in a day.
func TestAllThatIsLostIsGivenUp(t *testing.T) {
	t.Parallel()
	const count = 100
	a := newAway(t, count)
	a.round(func() {})
	if left := len(a.book.Missing()); left > 0 {
		t.Errorf("%d of %d are missing still", left, count)
	}
	total := 0
	for _, size := range a.chain.asked {
		if total += size; size > mostRead {
			t.Errorf("a question is about %d states, want %d at most", size, mostRead)
		}
	}
	if total != count*wire.MostStates {
		t.Errorf("the questions were about %d states, want each once: %d", total, count*wire.MostStates)
	}
}

// A question without an answer ends a round, and the next one goes on with the rest.
func TestAnEndpointThatFailsEndsARound(t *testing.T) {
	t.Parallel()
	const count = 30
	a := newAway(t, count)
	a.chain.fails = 2
	if a.round(func() {}); len(a.book.Missing()) != count-mostRead/wire.MostStates {
		t.Errorf("%d of %d are missing after one answer", len(a.book.Missing()), count)
	}
	if a.round(func() {}); len(a.book.Missing()) > 0 {
		t.Errorf("%d are missing after the next round", len(a.book.Missing()))
	}
}

// What somebody needs hides nothing: it has its turn, and then others have theirs. A round in which nothing is given up ends
// with its first question.
func TestWhatIsNeededHidesNothing(t *testing.T) {
	t.Parallel()
	const count, needed = 30, 20
	a := newAway(t, count)
	missing := a.book.Missing()
	for _, m := range missing[:needed] { // those whose turn comes first
		a.chain.unspent[ledgertest.Fake{}.State(m.Assembled, 0)] = true
	}
	for round := 1; len(a.book.Missing()) > needed; round++ {
		before := len(a.chain.asked)
		if a.round(func() {}); len(a.chain.asked) != before+1 && round <= 2 {
			t.Errorf("round %d has %d questions, and gives nothing up", round, len(a.chain.asked)-before)
		}
		if round == 10 {
			t.Fatalf("%d are missing, want those %d alone that are needed", len(a.book.Missing()), needed)
		}
	}
	for _, m := range missing[:needed] {
		if !slices.Contains(a.book.Missing(), m) {
			t.Fatalf("%v was given up, and has a state", m)
		}
	}
}

// The states of many contents are asked about in several questions too, and all of them before anything is given up: it may
// have spent the last one.
func TestAllStatesAreAskedAbout(t *testing.T) {
	t.Parallel()
	const count = 2*mostRead + 2
	a := newAway(t, count)
	var known []wire.Whole
	for i, w := range a.attempt {
		if i != 1 { // it has spent the state of the first
			known, a.chain.unspent[a.state(i)] = append(known, w), i > 0
		}
	}
	a.hear(known)
	if len(a.book.Missing()) != 1 || len(a.book.States()) != count-1 {
		t.Fatalf("%d are missing, and %d states there: this test shows nothing", len(a.book.Missing()), len(a.book.States()))
	}
	a.chain.fails = 1
	a.reconcile(a.book.States(), a.book.Missing())
	a.settle()
	if len(a.book.Missing()) != 1 {
		t.Fatal("it is given up, and the first question had no answer")
	}
	a.round(func() {})
	if len(a.book.Missing()) > 0 || len(a.book.States()) != count-2 || a.book.Unspent(a.state(0)) {
		t.Errorf("%d are missing, and %d states there, want none and %d", len(a.book.Missing()), len(a.book.States()), count-2)
	}
	if size := slices.Max(a.chain.asked); size > mostRead {
		t.Errorf("a question is about %d states, want %d at most", size, mostRead)
	}
}

// P12: contents that are heard while the ledger is asked may have a state that was spent by what is given up then. Nothing
// else would ask about it: nothing is missing any more.
func TestWhatIsHeardMeanwhileIsAskedAbout(t *testing.T) {
	t.Parallel()
	a := newAway(t, 2) // the second has spent the state of the first
	a.chain.unspent[a.state(0)] = false
	a.round(func() { a.hear(a.attempt[:1]) })
	if len(a.book.Missing()) > 0 || len(a.book.States()) > 0 {
		t.Errorf("%d are missing, and %d states there, want none", len(a.book.Missing()), len(a.book.States()))
	}
}

// The ledger is asked about what has landed up to the final block, that block included, and about nothing later: its answer
// would be of a block that may not have it.
func TestWhatIsFinalIsAskedAbout(t *testing.T) {
	t.Parallel()
	var missing []book.Missing
	for n := uint64(5); n <= 9; n++ {
		missing = append(missing, book.Missing{Number: n})
	}
	for doubted, want := range map[uint64]string{0: "[5 6 7]", 5: "[6 7 5]", 7: "[5 6 7]"} {
		c := contract{doubted: book.Missing{Number: doubted}}
		var got []uint64
		for _, m := range c.inTurn(missing, 7) {
			got = append(got, m.Number)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("after block %d it asks about %v, want %s", doubted, got, want)
		}
	}
}
