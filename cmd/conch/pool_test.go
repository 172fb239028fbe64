//go:build unix

package main_test

import (
	"slices"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/internal/runtest"
)

// The chain's node dies with its pool, without a journal: the same bytes are sent again. Later,
// when dearer ones have been sent, the old bytes come back into a block and into the pool. Each
// intent is done once, and shows the hash that the chain has.
func TestOldBytesComeBack(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	data := []string{"--datadir", t.TempDir(), "--block-time", "0", "--finality", "2"}
	chain := startDevnode(t, data...)
	n := senderAt(t, "n1", db.URL, chain.ws(), "")
	asked := requested(t, n, 0, 6)
	books := openBooks(t, db.URL)
	pooled := func() bool { ready, _ := chain.pooled(); return ready == 6 }
	until(t, "all are in the pool", pooled)

	chain.empty(3)
	chain.again(data...)
	until(t, "the same bytes are in the new pool", pooled)
	var old []attempt
	for nonce := range 6 {
		all := books.attempts(nonce)
		if len(all) != 1 {
			t.Fatalf("nonce %d was signed anew, want the same bytes sent again", nonce)
		}
		old = append(old, all[0])
	}

	until(t, "dearer ones are in the pool", nowAndThen(func() { chain.call("dev_burn", hexed(1)) }, func() bool {
		newest := books.attempts(5)
		return len(newest) > 1 && inPool(chain, newest[len(newest)-1].Hash)
	}))
	for chain.baseFee() > old[0].Max/2 { // the old ones pay for a block again
		chain.empty(1)
	}
	chain.call("dev_block", []string{old[0].Raw, old[1].Raw, old[2].Raw})
	chain.call("dev_drop", []string{})
	for _, a := range old[3:] {
		chain.call("eth_sendRawTransaction", a.Raw)
	}
	chain.mine(1)
	chain.mine(3)
	judge(t, chain, db.URL, asked)
	all := chain.history()
	for id := range asked {
		is := shown(t, n.api(), id)
		at := slices.IndexFunc(all, func(tx evidence.Mined) bool { return float64(tx.Nonce) == is["nonce"] })
		if is["fate"] != "done" || is["state"] != "finalized" || is["hash"] != all[at].Hash {
			t.Errorf("the chain has %s, but the transaction shows as %v; want it done with that hash", all[at].Hash, is)
		}
	}
	for _, tx := range all[:3] {
		if tx.Hash != old[tx.Nonce].Hash {
			t.Errorf("nonce %d: the chain does not have the old bytes, want them: they were mined first", tx.Nonce)
		}
	}
}

func inPool(chain *devnode, hash string) bool {
	chain.t.Helper()
	tx, _ := chain.call("eth_getTransactionByHash", hash).(map[string]any)
	return tx != nil && tx["blockHash"] == nil
}

// The pool loses a transaction in the middle: later ones wait, and the same bytes are sent again.
func TestAGapIsClosedWithTheSameBytes(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0", "--finality", "2")
	n := senderAt(t, "n1", db.URL, chain.ws(), "")
	asked := requested(t, n, 0, 6)
	books := openBooks(t, db.URL)
	until(t, "all are in the pool", func() bool { ready, _ := chain.pooled(); return ready == 6 })
	chain.call("dev_drop", []string{books.attempts(2)[0].Hash})
	chain.mine(1)
	if ready, waiting := chain.pooled(); ready != 0 || waiting != 3 {
		t.Fatalf("%d transactions are ready and %d wait, want 0 and 3 behind a gap", ready, waiting)
	}
	until(t, "the gap is closed", chain.meanwhile(func() bool { ready, _ := chain.pooled(); return ready == 4 }))
	chain.mine(3)
	judge(t, chain, db.URL, asked)
	if stored := books.number(`SELECT count(*) FROM conch.pending_attempts`); stored != 6 {
		t.Errorf("%d attempts for 6 intents, want 6", stored)
	}
}

// A third party's transaction takes a nonce and vanishes with its block. The gap is filled, but
// only after gap_fill_threshold_blocks.
func TestAGapOfSomebodyElsesIsFilledInTheEnd(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0", "--finality", "20")
	raw, hash := chain.foreign(0)
	chain.call("dev_block", []string{raw})
	line := newFaultyProxy(t, chain, 1)
	n := senderAt(t, "n1", db.URL, line.url, "gap_fill_threshold_blocks = 6\n")
	asked := requested(t, n, 0, 3)
	books := openBooks(t, db.URL)
	// A new account begins with what three heads count.
	until(t, "all are in the pool", chain.meanwhile(func() bool { ready, _ := chain.pooled(); return ready == 3 }))
	chain.call("dev_reorg", chain.call("eth_blockNumber"), make([][]string, 30)) // all of them
	chain.call("dev_drop", []string{hash})
	until(t, "those behind wait", func() bool { ready, waiting := chain.pooled(); return ready == 0 && waiting == 3 })
	chain.empty(3)
	until(t, "the transactions behind the gap were looked at", func() bool {
		return books.number(`SELECT count(*) FROM conch.pending_transactions WHERE state = 'broadcast'`) == 3
	})
	if len(books.attempts(0)) != 0 {
		t.Error("the gap was filled early, want it filled after 6 blocks")
	}
	until(t, "the gap is filled", chain.meanwhile(func() bool { ready, _ := chain.pooled(); return ready == 4 }))
	chain.mine(25)
	judge(t, chain, db.URL, asked)
	if n.count("ALARM") != 0 {
		t.Error("got an alarm, want none: the vanished transaction was never final")
	}
	if filled := books.attempts(0); len(filled) != 1 || !filled[0].Filler {
		t.Errorf("nonce 0 has the attempts %+v, want one filler", filled)
	}
}
