package book

import (
	"bytes"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// A member that sends large attempts takes no more memory than is given to all that have not landed.
func TestLargeAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	b, err := New(Config{Contract: deal, Scheme: fake, Rules: letters{}, MostBytes: wire.MostAttempt})
	if err != nil {
		t.Fatal(err)
	}
	size, count := 0, 0
	measure := func() {
		size, count = 0, 0
		for e := b.waiting.Front(); e != nil; e = e.Next() {
			size, count = size+e.Value.(*attempt).Size(), count+1
		}
	}
	for n := range uint64(41) {
		w := wire.Whole{Payload: []byte{byte(n)}, Outputs: []domain.Secret{{Data: bytes.Repeat([]byte{'a'}, wire.MostData)}}}
		w.Attempt = ledger.Attempt{Intent: ledger.Intent{Owner: "bob", Sequence: ledger.Sequence{Counter: n}}, Payload: domain.PayloadHash(w.Payload), Outputs: []ledger.Hash{w.Outputs[0].Commitment()}}
		hears(t, b, w)
		if n%3 == 0 {
			lands(t, b, w)
		}
		if _, is := b.Whole(named(w)); !is {
			t.Fatal("the last one is not remembered")
		}
		if measure(); size > wire.MostAttempt || len(b.states) > count+14 {
			t.Fatalf("%d attempts of %d bytes wait, of %d at most, and there are %d states", count, size, wire.MostAttempt, len(b.states))
		}
	}
	if count != 15 {
		t.Errorf("%d wait, want as many as there is room for: 15", count)
	}
	if _, err := New(Config{Contract: deal, Scheme: fake, Rules: letters{}, MostBytes: wire.MostAttempt - 1}); err == nil {
		t.Error("a book without room for one attempt has no fault")
	}
}
