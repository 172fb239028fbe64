//go:build unix

package main_test

import (
	"fmt"
	"maps"
	"net/http"
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

// An intent with a nonce is cancelled by a filler, and shown as cancelled when that is final; an
// intent without a nonce, at once. An intent that gets into the chain all the same is done.
func TestCancel(t *testing.T) {
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0")
	line := newFaultyProxy(t, chain, 1)
	n := senderAt(t, "n1", db.URL, line.url, "")
	books, api := openBooks(t, db.URL), n.api()
	asked := map[string]string{}
	want := func(i int) string {
		one := requested(t, n, i, i+1)
		maps.Copy(asked, one)
		for id := range one {
			return id
		}
		return ""
	}
	filled := func(nonce int) func() bool {
		return func() bool {
			all := books.attempts(nonce)
			return len(all) == 2 && all[1].Filler && 10*all[1].Max >= 11*all[0].Max && inPool(chain, all[1].Hash)
		}
	}
	is := func(id, fate string) {
		t.Helper()
		got := shown(t, api, id)
		if underWay, _ := got["cancelling"].(bool); got["fate"] != fate || underWay != (fate == "open") {
			t.Errorf("the intent shows as %v, want %s", got, fate)
		}
	}

	taken := want(0)
	until(t, "it is in the pool", func() bool { ready, _ := chain.pooled(); return ready == 1 })
	conch(t, "tx", "cancel", taken, "--node", api).done(t)
	until(t, "the filler is in the pool", filled(0))
	is(taken, "open")
	chain.mine(1)
	books.become("in_block")
	line.followed()
	is(taken, "open")
	chain.mine(2)
	books.end(chain, "usurped")
	is(taken, "cancelled")

	late := want(1)
	until(t, "it is in the pool", func() bool { ready, _ := chain.pooled(); return ready == 1 })
	if code, body := post(t, api+"/v1/transactions/"+late+"/cancel", ""); code != http.StatusOK && code != http.StatusAccepted {
		t.Errorf("cancelling: status %d, body %v; want 200 or 202", code, body)
	}
	until(t, "its filler is in the pool", filled(1))
	chain.call("dev_block", []string{books.attempts(1)[0].Raw})
	chain.empty(2)
	books.end(chain, "usurped finalized")
	is(late, "done")

	line.does(harm{away: true})
	queued := want(2)
	is(queued, "queued")
	conch(t, "tx", "cancel", queued, "--node", api).done(t)
	is(queued, "cancelled")
	line.does(harm{})
	last := want(3)
	until(t, "the next is in the pool", func() bool { ready, _ := chain.pooled(); return ready == 1 })
	chain.mine(4)
	judgeRevoked(t, chain, db.URL, asked, []string{taken, queued})
	is(last, "done")
	if got := shown(t, api, last); fmt.Sprint(got["nonce"]) != "2" {
		t.Errorf("the last intent shows as %v, want nonce 2: a cancelled intent in the queue uses none", got)
	}
}

// Another process has the key, with clef's protocol. While it is away, nothing is signed, no
// nonce is assigned, and an alarm is raised. Then everything is done without help.
func TestExternalSigner(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain, clef := migrated(t), startDevnode(t), startDevnode(t, "--block-time", "0")
	way := newDoor(t, strings.TrimPrefix(clef.url, "http://"))
	n := senderAt(t, "n1", db.URL, chain.ws(), "", `keystore = "key.json"`, `address = "`+fundedAddress+`"`,
		`password_file = "password"`, `signer = "http://`+way.address+`/?key=HIDDEN"`+"\n"+`signer_method = "account_signTransaction"`)
	asked := requested(t, n, 0, 5)
	n.says("ALARM: there is no key for the account, or its signer refuses: nothing more is signed", "cause", "keys")
	if why := n.value("ALARM: there is no key for the account, or its signer refuses: nothing more is signed", "error"); !strings.Contains(why, "external signer") || !strings.Contains(why, "refused") {
		t.Errorf("the alarm says %q, want that the external signer refused", why)
	}
	books := openBooks(t, db.URL)
	if slots := books.number(`SELECT count(*) FROM conch.pending_transactions`); slots != 0 {
		t.Errorf("%d slots, want none: nothing could be signed", slots)
	}
	way.open()
	judge(t, chain, db.URL, asked)
	n.says("alarm ended", "cause", "keys")
	if clef.count() != "0x0" {
		t.Error("the signer's chain has transactions, want none: it only signs")
	}
	if strings.Contains(n.text(), "HIDDEN") {
		t.Error("the log has the query of the signer's URL, which may be a secret")
	}
}
