//go:build unix

package main_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

// The base fee rises above the signed maximum: each further attempt pays at least a tenth more in
// both parts, up to max_fee. Then the node raises an alarm and assigns no nonce, and goes on by
// itself when fees fall.
func TestUnderpricedSpike(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	const most = 9e9
	db, chain := migrated(t), startDevnode(t, "--block-time", "0", "--gas-limit", "20000000")
	n := senderAt(t, "n1", db.URL, chain.ws(), fmt.Sprintf("max_fee = \"%d gwei\"\n", int(most/1e9)))
	asked := requested(t, n, 0, 2)
	books := openBooks(t, db.URL)
	until(t, "both are in the pool", func() bool { ready, _ := chain.pooled(); return ready == 2 })
	signed := books.attempts(0)[0].Max
	for chain.baseFee() < 2*signed {
		chain.call("dev_burn", hexed(1))
	}
	until(t, "dearer ones are in the pool", chain.meanwhile(func() bool {
		all := books.attempts(1)
		return len(all) > 1 && inPool(chain, all[len(all)-1].Hash)
	}))
	for chain.baseFee() < most {
		chain.call("dev_burn", hexed(1))
	}
	// A node that saw only the last of these blocks signs anew only with further blocks.
	until(t, "the alarm", nowAndThen(func() { chain.call("dev_burn", hexed(1)) }, func() bool {
		return n.count("ALARM: what has to be paid is above four fifths of max_fee or max_tip (the rest is kept for a cancellation): it waits until fees fall or more is allowed", "cause", "fees") > 0
	}))
	maps.Copy(asked, requested(t, n, 2, 3))
	chain.call("dev_burn", hexed(6))
	for nonce := range 2 {
		all := books.attempts(nonce)
		if len(all) < 2 {
			t.Errorf("nonce %d has the attempts %+v, want a dearer one: the chain refuses the first fee", nonce, all)
		}
		for i := 1; i < len(all); i++ {
			if 10*all[i].Max < 11*all[i-1].Max || 10*all[i].Tip < 11*all[i-1].Tip || all[i].Max > most*4/5 || all[i].Filler {
				t.Errorf("nonce %d has the attempts %+v, want each a tenth dearer, up to four fifths of max_fee, no filler", nonce, all)
			}
		}
	}
	if slots := books.number(`SELECT count(*) FROM conch.pending_transactions`); slots != 2 {
		t.Errorf("%d slots, want 2: an intent that cannot be paid gets no nonce", slots)
	}
	chain.call("dev_drop", []string{}) // as pools drop transactions that pay too little
	for chain.baseFee() > signed/2 {
		chain.empty(1)
	}
	until(t, "all are in the pool", func() bool { ready, _ := chain.pooled(); return ready == 3 })
	chain.mine(5)
	judge(t, chain, db.URL, asked)
	n.says("alarm ended", "cause", "fees")
}

// baseFee returns that of the last block.
func (d *devnode) baseFee() uint64 {
	d.t.Helper()
	return number(d.t, d.call("eth_getBlockByNumber", "latest", false).(map[string]any)["baseFeePerGas"])
}

// A third party's transaction with our nonce waits in the pool and pays well: ours is
// "underpriced", pays more, and is done.
func TestAnotherWaitsUnderOurNonce(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0")
	raw, _ := chain.foreign(0)
	chain.call("eth_sendRawTransaction", raw)
	n := senderAt(t, "n1", db.URL, chain.ws(), "")
	asked := requested(t, n, 0, 2)
	books := openBooks(t, db.URL)
	until(t, "ours are in the pool", func() bool {
		all := books.attempts(0)
		return len(all) > 1 && inPool(chain, all[len(all)-1].Hash)
	})
	chain.mine(5)
	judge(t, chain, db.URL, asked)
}

// An intent costs more than the account has: earlier intents are done, this one and later ones
// wait without a nonce, an alarm is raised, and the node goes on by itself once it has funds.
func TestOutOfFunds(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	n := senderAt(t, "n1", db.URL, chain.ws(), "")
	api := n.api()
	asked := requested(t, n, 0, 3)
	const much = "1000000000000000000000001" // a million ether and one wei
	code, body := post(t, api+"/v1/transactions", intentJSON(anothersAddress, much, "much"))
	if code != 202 {
		t.Fatalf("status %d, body %v; want 202", code, body)
	}
	dear := fmt.Sprint(body["id"])
	maps.Copy(asked, requested(t, n, 3, 5))
	n.says("ALARM: the account cannot pay: what waits for money is not sent until it can, nor is what waits behind it", "cause", "funds")
	books := openBooks(t, db.URL)
	books.end(chain, each("finalized", 3))
	if is := shown(t, api, dear); is["fate"] != "queued" || is["nonce"] != nil {
		t.Errorf("the dear intent shows as %v, want it queued without a nonce", is)
	}
	if n.count("ALARM") != 1 || n.count("alarm ended") != 0 {
		t.Errorf("the alarm was raised %d times and ended %d times, want once and never", n.count("ALARM"), n.count("alarm ended"))
	}
	const gauge = `conch_account_alarms{account="payer",cause="funds"} `
	if _, metrics := page(t, api+"/metrics"); !strings.Contains(metrics, gauge+"1\n") || !strings.Contains(metrics, `cause="keys"} 0`) {
		t.Error("the metrics do not show the alarm, want the cause funds only")
	}
	chain.call("dev_fund", fundedAddress, hexed(5e9))
	asked[dear] = deed(anothersAddress, much, "0x")
	judge(t, chain, db.URL, asked)
	n.says("alarm ended", "cause", "funds")
	if _, metrics := page(t, api+"/metrics"); !strings.Contains(metrics, gauge+"0\n") {
		t.Error("the metrics still show the ended alarm")
	}
}
