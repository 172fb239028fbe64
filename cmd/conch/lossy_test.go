//go:build unix

package main_test

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

// wished has a node accept some of the numbered transactions, and returns what it
// acknowledged: IDs and deeds.
func wished(t *testing.T, n *daemon, from, to int) map[string]string {
	t.Helper()
	c := callersOf(t, n)
	c.wants(from, to)
	return c.acknowledged()
}

// 30 % of all calls are lost, before or after the node has done them, within batches
// too, and batches arrive in another order: everything is done once.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	line := newWire(t, chain, 4)
	// finality = 0: that the chain knows what is final must survive a lost answer too.
	n := senderAt(t, "n1", db.URL, line.url, "", "finality = 2", "finality = 0")
	line.does(harm{before: 0.12, after: 0.15, refused: 0.03, shuffled: true, most: 20 * time.Millisecond})
	asked := wished(t, n, 0, 300)
	judge(t, chain, db.URL, asked)
	for _, way := range []string{"before", "after", "refused"} {
		if line.count(line.hurt, way) < 20 {
			t.Errorf("too little was lost to prove anything: %v", line.hurt)
		}
	}
	t.Log(line.hurt, line.calls)
}

// A node that takes a transaction and says that it did not: neither "nonce too low"
// nor "replacement transaction underpriced" is success or failure, so each is looked
// up, nothing is signed anew, and nothing is given up.
func TestAnswersThatLie(t *testing.T) {
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	line := newWire(t, chain, 9)
	n := senderAt(t, "n1", db.URL, line.url, "")
	asked := map[string]string{}
	for i, lie := range []string{"nonce too low", "replacement transaction underpriced", "transaction underpriced?", "insufficient funds for gas"} {
		line.does(harm{belied: 0.6, lie: lie, only: "eth_sendRawTransaction"})
		maps.Copy(asked, wished(t, n, 30*i, 30*i+30))
		judge(t, chain, db.URL, asked)
	}
	if line.count(line.hurt, "belied") < 40 {
		t.Errorf("too few lies to prove anything: %v", line.hurt)
	}
	if extra := openBooks(t, db.URL).number(`SELECT count(*) FROM conch.pending_attempts WHERE filler`); extra != 0 {
		t.Errorf("%d fillers for transactions that nobody cancelled", extra)
	}
}

// A pool with limits acknowledges and drops without a word, and then loses all of it,
// again and again: no more is in flight than allowed, what is nowhere is found, and the
// same bytes are handed over again.
func TestSilentDrop(t *testing.T) {
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--pool", "0", "--block-time", "0")
	line := newWire(t, chain, 2)
	const room = 60
	n := senderAt(t, "n1", db.URL, line.url, fmt.Sprintf("max_in_flight = %d\n", room))
	asked := wished(t, n, 0, 240)
	books := openBooks(t, db.URL)
	const hurt = 6 // rounds, in which less is executed than was asked for
	for round := 0; books.number(`SELECT count(*) FROM conch.intents WHERE fate = 'open'`) > 0; round++ {
		until(t, "the pool has something to mine in round %d", func() bool {
			ready, waiting := chain.pooled()
			if ready+waiting > room {
				t.Errorf("%d are in flight, %d are allowed", ready+waiting, room)
			}
			return ready > 0 || round >= hurt && books.number(`SELECT count(*) FROM conch.pending_transactions WHERE block_hash IS NULL`) == 0
		}, round)
		if round < hurt && round%2 == 0 {
			chain.call("dev_drop", []string{})
			chain.empty(3) // after so many it looks whether the pool still has what it took
			continue
		}
		chain.mine(1)
	}
	judge(t, chain, db.URL, asked)
	again := 0
	for nonce := range len(asked) {
		all := books.attempts(nonce)
		if again += line.count(line.sent, all[0].Raw) - 1; len(all) != 1 || all[0].Filler {
			t.Fatalf("nonce %d was signed %d times, though the same bytes would do", nonce, len(all))
		}
	}
	if again < room/2 || line.count(line.calls, "eth_getTransactionByHash") == 0 {
		t.Errorf("%d were handed over again: nothing was dropped to speak of", again)
	}
}
