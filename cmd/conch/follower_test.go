//go:build unix

package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// heard is a notification about a transaction.
type heard struct {
	channel                              string
	Account, Hash, State, Creator, Chain string
	Nonce                                uint64
	UpdatedAt                            time.Time `json:"updated_at"`
	BlockHash                            string    `json:"block_hash"`
}

// listens collects notifications about transactions until the test ends.
func listens(t *testing.T, db *pgtest.DB) <-chan heard {
	t.Helper()
	ear := db.Connect(t)
	if _, err := ear.Exec(t.Context(), `LISTEN pending_tx_new; LISTEN pending_tx_update`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	news, over := make(chan heard, 1000), make(chan struct{})
	t.Cleanup(func() {
		cancel()
		pgtest.Within(t, patience, "the listener ends", func() { <-over })
	})
	go func() {
		defer close(over)
		for {
			n, err := ear.WaitForNotification(ctx)
			if err != nil {
				return
			}
			one := heard{channel: n.Channel}
			if err := json.Unmarshal([]byte(n.Payload), &one); err != nil || len(n.Payload) > 1000 {
				t.Errorf("got a notification of %d bytes with error %v, want 1000 bytes of JSON at most", len(n.Payload), err)
			}
			select {
			case news <- one:
			case <-ctx.Done():
				return
			}
		}
	}()
	return news
}

// A follower accepts an intent of 64 kB, which no notification could carry, sends nothing, and
// shows its progress. The leader finds it without a notification. Listeners are told of each
// state, with the block if there is one. (S19, S23, S24, S25, S26, D7)
func TestAFollowerAcceptsAndTells(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	if _, err := db.Connect(t).Exec(t.Context(), `ALTER TABLE conch.intents DISABLE TRIGGER USER`); err != nil {
		t.Fatal(err)
	}
	news := listens(t, db)
	sender(t, "n1", db.URL, chain).leads(1)
	proxy := newHoldingProxy(t, chain, db.URL)
	two := senderAt(t, "n2", db.URL, proxy.url, "")
	two.says("leadership following", "scope", accountScope)
	large := "0x" + strings.Repeat("5a", 64<<10)
	code, accepted := post(t, two.api()+"/v1/transactions", fmt.Sprintf(`{"account":"payer","to":%q,"value":"1","data":%q}`, nobodysAddress, large))
	if code != http.StatusAccepted {
		t.Fatalf("status %d, body %v; want 202", code, accepted)
	}
	id := accepted["id"].(string)
	shown := map[string]any{}
	pgtest.Eventually(t, patience, "the follower shows that it is final", func() bool {
		_, shown = get(t, two.api()+"/v1/transactions/"+id)
		return shown["state"] == "finalized"
	})
	judge(t, chain, db.URL, map[string]string{id: deed(nobodysAddress, "1", large)})
	if shown["as_of"] == nil || shown["fate"] != "done" {
		t.Errorf("the transaction shows as %.500v, want it done, with as_of", shown)
	}
	receipt := chain.call("eth_getTransactionReceipt", shown["hash"]).(map[string]any)
	var states []string
	for first := true; first || states[len(states)-1] != "finalized"; first = false {
		var n heard
		select {
		case n = <-news:
		case <-time.After(patience):
			t.Fatalf("listeners were told only of %v, want finalized too", states)
		}
		states = append(states, n.State)
		block := ""
		if n.State == "in_block" || n.State == "finalized" {
			block = fmt.Sprint(receipt["blockHash"])
		}
		channel := map[bool]string{true: "pending_tx_new", false: "pending_tx_update"}[first]
		if n.channel != channel || n.Account != fundedAddress || n.Chain != "evm:1337" || n.Nonce != 0 ||
			n.Hash != shown["hash"] || n.Creator != "n1" || n.UpdatedAt.IsZero() || n.BlockHash != block {
			t.Errorf("on the channel %s listeners were told %+v, want the transaction with its block", n.channel, n)
		}
	}
	if states[0] != "future" || !slices.Contains(states, "in_block") {
		t.Errorf("listeners were told of %v, want future first and in_block among them", states)
	}
	if sent := proxy.passed(); len(sent) > 0 {
		t.Errorf("the follower sent %d transactions, want none", len(sent))
	}
	kept := blockKept(t, db)
	if kept != receipt["blockHash"] {
		t.Errorf("the database has block %s, want %v", kept, receipt["blockHash"])
	}
}

// blockKept returns the block of the only transaction according to the database.
func blockKept(t *testing.T, db *pgtest.DB) (hash string) {
	t.Helper()
	err := db.Connect(t).QueryRow(t.Context(), `SELECT '0x' || encode(block_hash, 'hex') FROM conch.pending_transactions`).Scan(&hash)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// The chain finalizes nothing: after a while the state says so, and keeps the
// block. The transaction becomes final when its block does. (S24, S26)
func TestFinalityTimesOut(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0", "--finality", "0")
	chain.call("dev_finalize") // so that the chain has a final block
	chain.mine(3)              // and that it is not the head
	many := callersOf(t, senderAt(t, "n1", db.URL, chain.url, "", "finality = 2", "finality = 0\nfinality_timeout = \"1s\"").leads(1))
	many.wants(0, 1)
	state := func(want string) {
		t.Helper()
		var now string
		conn := db.Connect(t)
		pgtest.Eventually(t, patience, "its state is "+want, func() bool {
			return conn.QueryRow(t.Context(), `SELECT state FROM conch.pending_transactions`).Scan(&now) == nil && now == want
		})
	}
	state("broadcast")
	in := chain.call("dev_mine")
	state("in_block")
	state("finality_timeout") // after a second, whatever the number of blocks
	if kept := blockKept(t, db); kept != in {
		t.Errorf("the database has block %s, want %v", kept, in)
	}
	judge(t, chain, db.URL, many.acknowledged()) // with final blocks
	state("finalized")
}

// A notification wakes the leader when a follower accepts an intent: the next look would come
// after an hour. (S25, D5)
func TestANotificationWakesTheLeader(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	const rarely = "repair_interval = \"1h\"\n"
	senderAt(t, "n1", db.URL, chain.ws(), rarely).leads(1)
	follower := senderAt(t, "n2", db.URL, chain.ws(), rarely)
	follower.says("leadership following", "scope", accountScope)
	asked := map[string]string{}
	for i := range 3 { // one after the other, so that each must wake the leader
		maps.Copy(asked, requested(t, follower, i, i+1))
		judge(t, chain, db.URL, asked)
	}
}

// Without notifications, the leader finds waiting intents by looking.
func TestALostNotificationIsRepaired(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	if _, err := openBooks(t, db.URL).conn.Exec(t.Context(), `DROP TRIGGER intents_new ON conch.intents`); err != nil {
		t.Fatal(err)
	}
	senderAt(t, "n1", db.URL, chain.ws(), "").leads(1)
	follower := senderAt(t, "n2", db.URL, chain.ws(), "")
	follower.says("leadership following", "scope", accountScope)
	judge(t, chain, db.URL, requested(t, follower, 0, 2))
}

// A leader archives old finished transactions, which are still found by ID, by key and in lists.
func TestArchiveAfter(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	one := sender(t, "n1", db.URL, chain)
	var ids []string
	asked := map[string]string{}
	for _, w := range []struct{ key, value string }{{"a", "1"}, {"b", "2"}} {
		code, body := post(t, one.api()+"/v1/transactions", intentJSON(nobodysAddress, w.value, w.key))
		if code != http.StatusAccepted {
			t.Fatalf("status %d, body %v; want 202", code, body)
		}
		ids = append(ids, body["id"].(string))
		asked[ids[len(ids)-1]] = deed(nobodysAddress, w.value, "0x")
		conch(t, "tx", "show", ids[len(ids)-1], "--node", one.api(), "--wait").done(t)
	}
	if code := one.stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d, want 0", code)
	}
	two := prepareDaemon(t, "n2", db.URL, "")
	two.write(fileOf(db.URL, "listen = \"127.0.0.1:0\"\n"+chain.account(two, "archive_after = \"1ms\"\n")))
	two.start().says("sending", "account", "payer")
	conn := db.Connect(t)
	until(t, "the older one is in the archive", func() bool {
		var moved, left int
		err := conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM conch.archived_intents), (SELECT count(*) FROM conch.intents)`).Scan(&moved, &left)
		return err == nil && moved == 1 && left == 1
	})
	got := decode[map[string]any](t, conch(t, "tx", "show", ids[0], "--node", two.api(), "--json").done(t))
	if got["fate"] != "done" || got["state"] != "finalized" || got["nonce"] != 0.0 || got["idempotency_key"] != "a" {
		t.Errorf("the archived transaction shows as %v, want it done and final with nonce 0 and its key", got)
	}
	if code, body := post(t, two.api()+"/v1/transactions", intentJSON(nobodysAddress, "1", "a")); code != http.StatusAccepted || body["id"] != ids[0] {
		t.Errorf("the same request again: status %d, body %v; want 202 and the same ID", code, body)
	}
	if code, body := post(t, two.api()+"/v1/transactions", intentJSON(nobodysAddress, "2", "a")); code != http.StatusConflict {
		t.Errorf("its key for another request: status %d, body %v; want 409", code, body)
	}
	judge(t, chain, db.URL, asked)
}
