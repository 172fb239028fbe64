package sequencer

import (
	"context"
	"encoding/binary"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/book"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/ledger/ledgertest"
	"github.com/conchhq/conch/sequencer/wire"
)

// library is a store that has no contents, and notes which are asked for.
type library struct {
	Store

	mu    sync.Mutex
	asked map[ledger.Hash]bool
}

func (l *library) Attempts(_ context.Context, _ string, names []ledger.Hash) ([]wire.Whole, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range names {
		l.asked[h] = true
	}
	return nil, nil
}

// Q14: a member that was away lacks more than one request asks for, and what landed first is forgotten everywhere. It
// asks for what landed later too, in its turn.
func TestWhatNobodyHasHidesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	declared := ledger.Contract{
		Chain: 1, Address: "k", Members: []ledger.Account{"alice", "bob"}, Committee: []ledger.Account{"alice"}, Needed: 1, Range: 10, Depth: 3, Life: 6, Domain: "d",
	}
	b, err := book.New(book.Config{Contract: declared, Scheme: ledgertest.Fake{}, Rules: labelled{}})
	if err != nil {
		t.Fatal(err)
	}
	const lacked = 2*1000 + 7
	in := ledger.Block{Number: 1}
	for i := range uint64(lacked) {
		var h ledger.Hash
		binary.BigEndian.PutUint64(h[:], i+1)
		in.Facts = append(in.Facts, ledger.Fact{Intent: ledger.Intent{Owner: "bob", Sequence: ledger.Sequence{Counter: i}}, Assembled: h})
	}
	if err := b.Block(in); err != nil {
		t.Fatal(err)
	}
	shelf := &library{asked: map[ledger.Hash]bool{}}
	c := &contract{
		n: &Node{
			ctx: ctx, began: time.Now().Add(-time.Hour), cfg: Config{Self: "alice", Store: shelf, Log: slog.New(slog.DiscardHandler)}, tasks: make(chan func(), 1), outages: newOutages(),
		},
		set: &Contract{Declared: declared, Ledger: asOf{}}, book: b, ctx: ctx,
	}
	for range 6 {
		c.fetchAt = 0
		c.fetch()
	}
	c.n.group.Wait()
	if len(shelf.asked) != lacked {
		t.Errorf("%d of %d are asked for", len(shelf.asked), lacked)
	}
}
