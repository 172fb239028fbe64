//go:build unix

package main_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
)

// requested requests numbered transactions from a node, and returns the acknowledged deeds by ID.
func requested(t *testing.T, n *daemon, from, to int) map[string]string {
	t.Helper()
	c := callersOf(t, n)
	c.wants(from, to)
	return c.acknowledged()
}

// 30 % of all calls are lost, before or after the node has carried them out, also within batches,
// and batches are reordered: everything is done once.
func TestLostResponses(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	line := newFaultyProxy(t, chain, 4)
	// finality = 0: whether the chain reports final blocks must be found despite lost answers.
	n := senderAt(t, "n1", db.URL, line.url, "", "finality = 2", "finality = 0")
	line.does(harm{before: 0.12, after: 0.15, refused: 0.03, shuffled: true, most: 20 * time.Millisecond})
	asked := requested(t, n, 0, runtest.ByDay(150, 300))
	judge(t, chain, db.URL, asked)
	for _, way := range []string{"before", "after", "refused"} {
		if line.count(line.hurt, way) < 10 {
			t.Errorf("lost calls: %v, want 10 or more of each kind, or the test shows nothing", line.hurt)
		}
	}
	t.Log(line.hurt, line.calls)
}

// A node accepts a transaction and says that it did not. Such an answer is neither success nor
// failure: the transaction is looked up, not signed anew, and not given up.
func TestAnswersThatLie(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	line := newFaultyProxy(t, chain, 9)
	n := senderAt(t, "n1", db.URL, line.url, "")
	asked := map[string]string{}
	for i, lie := range []string{"nonce too low", "replacement transaction underpriced", "transaction underpriced?", "insufficient funds for gas"} {
		line.does(harm{belied: 0.6, lie: lie, only: "eth_sendRawTransaction"})
		maps.Copy(asked, requested(t, n, 15*i, 15*i+15))
		judge(t, chain, db.URL, asked)
	}
	if line.count(line.hurt, "belied") < 20 {
		t.Errorf("false answers: %v, want 20 or more, or the test shows nothing", line.hurt)
	}
	if extra := openBooks(t, db.URL).number(`SELECT count(*) FROM conch.pending_attempts WHERE filler`); extra != 0 {
		t.Errorf("%d fillers, want none: nobody cancelled", extra)
	}
}

// A limited pool silently drops transactions, and repeatedly loses all of them: no more than
// max_in_flight are in flight, lost ones are noticed, and the same bytes are sent again.
func TestSilentDrop(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--pool", "0", "--block-time", "0")
	line := newFaultyProxy(t, chain, 2)
	const room = 30
	n := senderAt(t, "n1", db.URL, line.url, fmt.Sprintf("max_in_flight = %d\n", room))
	asked := requested(t, n, 0, 4*room)
	books := openBooks(t, db.URL)
	const hurt = 6 // rounds in which every second pool is lost
	for round := 0; books.number(`SELECT count(*) FROM conch.intents WHERE fate = 'open'`) > 0; round++ {
		until(t, "the pool has something to mine in round %d", func() bool {
			ready, waiting := chain.pooled()
			if ready+waiting > room {
				t.Errorf("%d are in flight, want %d or fewer", ready+waiting, room)
			}
			return ready > 0 || round >= hurt && books.number(`SELECT count(*) FROM conch.pending_transactions WHERE block_hash IS NULL`) == 0
		}, round)
		if round < hurt && round%2 == 0 {
			chain.call("dev_drop", []string{})
			chain.empty(3) // then the node checks whether the pool still has its transactions
			continue
		}
		chain.mine(1)
	}
	judge(t, chain, db.URL, asked)
	again := 0
	for nonce := range len(asked) {
		all := books.attempts(nonce)
		if again += line.count(line.sent, all[0].Raw) - 1; len(all) != 1 || all[0].Filler {
			t.Fatalf("nonce %d was signed %d times, want once: the same bytes are enough", nonce, len(all))
		}
	}
	if again < room/2 || line.count(line.calls, "eth_getTransactionByHash") == 0 {
		t.Errorf("%d were sent again, want 15 or more and lookups, or the test shows nothing", again)
	}
}
