package wire

import (
	"bytes"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// batch is an answer with as many attempts as a coordinator asks for at once, each of the size of a note's transfer.
func batch() Message {
	var b Assembled
	for i := range uint64(64) {
		own := ledger.Sequence{Lineage: 1 << 60, Counter: i}
		b.Results = append(b.Results, Result{
			Sequence: own,
			Attempt: ledger.Attempt{
				Intent: ledger.Intent{Owner: ledger.Account(bytes.Repeat([]byte{7}, 32)), Sequence: own},
				Inputs: make([]ledger.StateID, 2), Reads: make([]ledger.StateID, 1), Outputs: make([]ledger.Hash, 2), Data: make([]byte, 32),
			},
			Payload: make([]byte, 200),
			Outputs: []domain.Secret{{Data: make([]byte, 100)}, {Data: make([]byte, 100)}},
		})
	}
	return Message{Contract: "0xc0ffee", Height: 7, Request: RequestID{Number: 9}, Body: b}
}

func BenchmarkAssembled(b *testing.B) {
	m := batch()
	in := encoded(b, m)
	perAttempt := func(b *testing.B) { b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(64*b.N), "µs/attempt") }
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Encode(m); err != nil {
				b.Fatal(err)
			}
		}
		perAttempt(b)
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			if _, err := Decode(in); err != nil {
				b.Fatal(err)
			}
		}
		perAttempt(b)
	})
}
