//go:build unix

package main_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/internal/runtest"
)

// A third party's transaction takes our nonce in a reorganisation. Until that is final the intent
// keeps its slot; then it gets a new one, and is done once. Others that the reorganisation removed
// become retracted, and return. (S24, S26)
func TestReorgWithAForeignTransaction(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0", "--finality", "4")
	line := newFaultyProxy(t, chain, 1)
	n := senderAt(t, "n1", db.URL, line.url, "", "finality = 2", "finality = 4")
	ear := &ear{heard: listens(t, db)}
	asked := requested(t, n, 0, 3)
	books := openBooks(t, db.URL)
	until(t, "all are in the pool", func() bool { ready, _ := chain.pooled(); return ready == 3 })
	chain.mine(1)
	books.become("in_block in_block in_block")

	raw, hash := chain.foreign(0)
	chain.call("dev_reorg", "0x1", [][]string{{raw}, {}})
	books.become("retracted retracted retracted")
	chain.mine(1) // the later two, whose nonces are still theirs
	books.become("retracted in_block in_block")
	line.followed()
	if slots := books.number(`SELECT count(*) FROM conch.pending_transactions`); slots != 3 {
		t.Errorf("%d slots, want 3 until the third party's transaction is final", slots)
	}
	chain.mine(4)
	until(t, "the intent has a new slot", chain.meanwhile(func() bool { ready, _ := chain.pooled(); return ready == 1 }))
	chain.mine(5)
	judge(t, chain, db.URL, asked, hash)
	books.end(chain, "usurped finalized finalized finalized")
	for nonce, want := range []string{"in_block retracted", "in_block retracted in_block finalized", "in_block retracted in_block finalized", "in_block finalized"} {
		until(t, "nonce %d was said to be "+want, func() bool { return strings.Contains(ear.states(nonce), want) }, nonce)
	}
	for id := range asked {
		if is := shown(t, n.api(), id); is["fate"] != "done" || is["state"] != "finalized" || is["nonce"] == 0.0 {
			t.Errorf("the transaction shows as %v, want it done and final with another nonce than 0", is)
		}
	}
}

// A third party's transaction in a reorganisation that does not last changes nothing.
func TestAForeignTransactionThatGoesAgain(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0", "--finality", "4")
	n := senderAt(t, "n1", db.URL, chain.ws(), "", "finality = 2", "finality = 4")
	asked := requested(t, n, 0, 2)
	books := openBooks(t, db.URL)
	until(t, "all are in the pool", func() bool { ready, _ := chain.pooled(); return ready == 2 })
	chain.mine(1)
	books.become("in_block in_block")
	raw, hash := chain.foreign(0)
	chain.call("dev_reorg", "0x1", [][]string{{raw}, {}})
	books.become("retracted retracted")
	chain.call("dev_reorg", "0x2", [][]string{{}, {}, {}})
	chain.call("dev_drop", []string{hash})
	until(t, "both are in the pool", func() bool { ready, _ := chain.pooled(); return ready == 2 })
	chain.mine(6)
	judge(t, chain, db.URL, asked)
	books.end(chain, "finalized finalized")
}

// The chain's node is killed and comes back with a head below what was final: no nonce is
// assigned twice, the stored bytes are sent again, and an alarm is raised.
func TestChainRewind(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	data := []string{"--datadir", t.TempDir(), "--block-time", "0", "--finality", "2"}
	chain := startDevnode(t, data...)
	n := senderAt(t, "n1", db.URL, chain.ws(), "")
	asked := requested(t, n, 0, 4)
	books := openBooks(t, db.URL)
	until(t, "all are in the pool", func() bool { ready, _ := chain.pooled(); return ready == 4 })
	chain.mine(4)
	books.end(chain, each("finalized", 4))
	chain.again(data...)
	n.says("ALARM: the chain has taken back what was final", "account", "payer", "cause", "rewound")
	maps.Copy(asked, requested(t, n, 4, 6))
	until(t, "old and new are in the pool", func() bool { ready, _ := chain.pooled(); return ready == 6 })
	chain.mine(4)
	judge(t, chain, db.URL, asked)
	books.end(chain, each("finalized", 6))
	if stored := books.number(`SELECT count(*) FROM conch.pending_attempts`); stored != 6 {
		t.Errorf("%d attempts for 6 intents, want 6", stored)
	}
	n.says("alarm ended", "cause", "rewound")
}

// The chain puts what was final into other blocks, at the same height and at another one, while it never counts fewer nonces:
// what the API says of the block becomes true again, and an alarm tells of it.
func TestFinalInOtherBlocks(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0", "--finality", "2")
	n := senderAt(t, "n1", db.URL, chain.ws(), "")
	asked := requested(t, n, 0, 2)
	books := openBooks(t, db.URL)
	until(t, "all are in the pool", func() bool { ready, _ := chain.pooled(); return ready == 2 })
	chain.mine(1)
	books.end(chain, each("finalized", 2))
	before := books.number(`SELECT max(block_number) FROM conch.pending_transactions`)
	blocks := [][]string{{books.attempts(0)[0].Raw}, {books.attempts(1)[0].Raw}, {}, {}, {}, {}, {}, {}}
	depth := number(t, chain.call("eth_blockNumber")) - uint64(before) + 1
	chain.call("dev_reorg", hexed(depth), blocks)
	n.says("ALARM: the chain has taken back what was final", "account", "payer", "cause", "rewound")
	until(t, "the API has the blocks that the chain has", chain.meanwhile(func() bool {
		for id := range asked {
			is := shown(t, n.api(), id)
			receipt, _ := chain.call("eth_getTransactionReceipt", is["hash"]).(map[string]any)
			block, _ := is["block"].(map[string]any)
			height, _ := block["number"].(float64)
			if is["fate"] != "done" || block["hash"] != receipt["blockHash"] || hexed(uint64(height)) != receipt["blockNumber"] {
				return false
			}
		}
		return true
	}))
	n.says("alarm ended", "cause", "rewound")
	if signed := books.number(`SELECT count(*) FROM conch.pending_attempts`); signed != 2 {
		t.Errorf("%d attempts for 2 intents, want 2", signed)
	}
}

// ear collects notifications about slots. (S23)
type ear struct {
	heard <-chan heard
	all   []heard
}

// states returns the states that notifications gave for a slot, in order. It ignores in_block and
// finalized without a block.
func (e *ear) states(nonce int) string {
	for len(e.heard) > 0 {
		e.all = append(e.all, <-e.heard)
	}
	var states []string
	for _, one := range e.all {
		if one.Nonce == uint64(nonce) && (one.BlockHash != "" || one.State != "in_block" && one.State != "finalized") {
			if len(states) == 0 || states[len(states)-1] != one.State {
				states = append(states, one.State)
			}
		}
	}
	return fmt.Sprint(states)
}

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
