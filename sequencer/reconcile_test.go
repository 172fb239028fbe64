package sequencer

import (
	"context"
	"log/slog"
	"slices"
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
