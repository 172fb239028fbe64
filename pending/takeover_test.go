package pending_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// S20: a successor finds 30,000 transactions that are not final, each call takes 50 ms, and the first new
// transaction leaves within two seconds of the bubble's time. Of those it finds, most are in blocks that its
// predecessor had stored, those of the last blocks are read block by block, and the others are sent again.
func TestATakeoverSignsAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("stores and mines 30,000 transactions")
	}
	synctest.Test(t, func(t *testing.T) {
		const mined, stored, sent = 30_000, 24_000, 30_200
		node := chaintest.New(chaintest.Config{Seed: 1, Depth: 10_000, BlockGas: math.MaxInt64})
		from := node.Account("sender", 1<<60)
		store := &pending.Memory{}
		token := fence.Token{Scope: "sender", Epoch: 1, Holder: "node 1", Term: fence.Term{1}}
		for first := uint64(0); first < sent; first += 200 {
			batch := pending.Batch{Account: from, Number: 1 + first}
			var txs []chain.Signed
			for index := first; index < first+200; index++ {
				tx := node.Foreign(from, index)
				tx.Filler = true
				txs = append(txs, tx)
				batch.New = append(batch.New, pending.Slot{Index: index, Since: first / 200, Attempts: []chain.Signed{tx}})
			}
			var block chain.Block
			if first < mined {
				block = node.Seal(txs...)
			}
			for _, tx := range txs {
				if tx.Index < stored {
					batch.Changes = append(batch.Changes, pending.Change{Index: tx.Index, Status: pending.InBlock, Hash: tx.Hash, Block: block})
				}
			}
			if err := store.Write(t.Context(), token, batch); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := store.Accept(t.Context(), pending.Intent{Account: from, Call: chain.Call{To: []byte("somebody")}}); err != nil {
			t.Fatal(err)
		}

		line := node.Line()
		line.Delay(50 * time.Millisecond)
		token.Epoch, token.Term = 2, fence.Term{2}
		gate, latch := fence.New("sender", bubbleClock)
		latch.Open(token, 0, bubbleClock().Add(time.Hour))
		m, err := pending.New(pending.Config{Account: from, Chain: line, Store: store, Clock: bubbleClock})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, kill := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- m.Lead(ctx, gate, token) }()
		for pooled := uint64(0); pooled <= sent; {
			time.Sleep(10 * time.Millisecond) // virtual
			if pooled, err = node.Line().Pooled(ctx, from); err != nil {
				t.Fatal(err)
			}
			if time.Since(began) > time.Hour {
				t.Fatal("the new transaction was not sent within an hour")
			}
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the first new transaction was sent after %v, want at most 2s", took)
		}
		for _, found := range []uint64{0, stored - 1, stored, mined - 1} {
			for status := pending.Future; status != pending.InBlock; {
				time.Sleep(100 * time.Millisecond) // virtual
				status = store.Status(from, found)
				if time.Since(began) > time.Hour {
					t.Fatalf("nonce %d is %v after an hour, want it in a block", found, status)
				}
			}
		}
		if probes := line.Calls("Probe"); probes > 1 {
			t.Errorf("%d lookups by hash, want none but those of a head that is late", probes)
		}
		t.Logf("calls: %d submits, %d scans, %d lookups", line.Calls("Submit"), line.Calls("Scan"), line.Calls("Probe"))
		kill()
		<-over
	})
}
