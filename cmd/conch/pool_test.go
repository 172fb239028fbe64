//go:build unix

package main_test

import (
	"slices"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// A node dies with its pool, and keeps no journal: the same bytes are sent again. Later,
// when a dearer replacement is out, the old bytes come back, as a journal or somebody
// else brings them: into a block, and into the pool. Each is done once, and what is said
// of it names the bytes that did it.
func TestOldBytesComeBack(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	data := []string{"--datadir", t.TempDir(), "--block-time", "0", "--finality", "2"}
	chain := startDevnode(t, data...)
	n := senderAt(t, "n1", db.URL, chain.ws(), "")
	asked := wished(t, n, 0, 6)
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
			t.Fatalf("nonce %d was signed anew, though its bytes were only lost", nonce)
		}
		old = append(old, all[0])
	}

	until(t, "dearer ones are in the pool", chain.meanwhile(func() bool {
		newest := books.attempts(5)
		return len(newest) > 1 && inPool(chain, newest[len(newest)-1].Hash)
	}))
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
			t.Errorf("the chain has %s, and it is said: %v", all[at].Hash, is)
		}
	}
	for _, tx := range all[:3] {
		if tx.Hash != old[tx.Nonce].Hash {
			t.Errorf("nonce %d: the old bytes were not the ones that came first", tx.Nonce)
		}
	}
}

func inPool(chain *devnode, hash string) bool {
	chain.t.Helper()
	tx, _ := chain.call("eth_getTransactionByHash", hash).(map[string]any)
	return tx != nil && tx["blockHash"] == nil
}

// The pool loses one in the middle: those behind it wait, the same bytes are handed
// over again, and nothing is filled.
func TestAGapIsClosedWithTheSameBytes(t *testing.T) {
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0", "--finality", "2")
	n := senderAt(t, "n1", db.URL, chain.ws(), "")
	asked := wished(t, n, 0, 6)
	books := openBooks(t, db.URL)
	until(t, "all are in the pool", func() bool { ready, _ := chain.pooled(); return ready == 6 })
	chain.call("dev_drop", []string{books.attempts(2)[0].Hash})
	chain.mine(1)
	if ready, waiting := chain.pooled(); ready != 0 || waiting != 3 {
		t.Fatalf("there is no gap: %d can be mined, %d wait", ready, waiting)
	}
	until(t, "the gap is closed", chain.meanwhile(func() bool { ready, _ := chain.pooled(); return ready == 4 }))
	chain.mine(3)
	judge(t, chain, db.URL, asked)
	if stored := books.number(`SELECT count(*) FROM conch.pending_attempts`); stored != 6 {
		t.Errorf("%d were signed for 6", stored)
	}
}

// Somebody else's transaction takes a nonce, and vanishes with its block: nothing of
// ours belongs there. Only after gap_fill_threshold_blocks is it filled.
func TestAGapOfSomebodyElsesIsFilledInTheEnd(t *testing.T) {
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0", "--finality", "3")
	raw, hash := chain.foreign(0)
	chain.call("dev_block", []string{raw})
	line := newWire(t, chain, 1)
	n := senderAt(t, "n1", db.URL, line.url, "gap_fill_threshold_blocks = 6\n")
	asked := wished(t, n, 0, 3)
	books := openBooks(t, db.URL)
	until(t, "all are in the pool", func() bool { ready, _ := chain.pooled(); return ready == 3 })
	chain.call("dev_reorg", "0x1", [][]string{{}, {}})
	chain.call("dev_drop", []string{hash})
	until(t, "those behind wait", func() bool { ready, waiting := chain.pooled(); return ready == 0 && waiting == 3 })
	chain.empty(3)
	until(t, "what is behind was looked at", func() bool {
		return books.number(`SELECT count(*) FROM conch.pending_transactions WHERE state = 'broadcast'`) == 3
	})
	if len(books.attempts(0)) != 0 {
		t.Error("the gap was filled before its time")
	}
	until(t, "the gap is filled", chain.meanwhile(func() bool { ready, _ := chain.pooled(); return ready == 4 }))
	chain.mine(5)
	judge(t, chain, db.URL, asked)
	if n.count("ALARM") != 0 {
		t.Error("an alarm for what was never final")
	}
	if filled := books.attempts(0); len(filled) != 1 || !filled[0].Filler {
		t.Errorf("%+v", filled)
	}
}
