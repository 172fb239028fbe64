package core

import (
	"encoding/binary"
	"testing"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Q14: a member that was away lacks more than one request asks for, and what landed first is forgotten everywhere. It
// asks for what landed later too, in its turn.
func TestWhatNobodyHasHidesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "alice", declared("alice", "bob"))
	const lacked = 2*1000 + 7
	in := ledger.Block{Number: 1}
	for i := range uint64(lacked) {
		var h ledger.Hash
		binary.BigEndian.PutUint64(h[:], i+1)
		in.Facts = append(in.Facts, ledger.Fact{Intent: ledger.Intent{Owner: "bob", Sequence: ledger.Sequence{Counter: i}}, Assembled: h})
	}
	if err := d.Book.Block(in); err != nil {
		t.Fatal(err)
	}
	asked := map[ledger.Hash]bool{}
	for range 6 {
		d.absent.fetchAt = 0
		d.absent.fetchMissing()
		if one, is := next[ReadAttempts](d); is {
			for _, h := range one.Named {
				asked[h] = true
			}
		}
	}
	if len(asked) != lacked {
		t.Errorf("%d of %d are asked for", len(asked), lacked)
	}
}
