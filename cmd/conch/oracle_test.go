//go:build unix

package main_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/explorer"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgaccount"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// The chain shows whether every accepted intent was done once. The database shows only what was
// accepted and stored. Package evidence judges both, as for `conch demo`.

// deed returns what a call does. Tests give each intent its own, by which it is found in the chain.
func deed(to, value, data string) string { return evidence.Deed(to, value, data) }

// longPatience allows for many transactions on a busy machine.
const longPatience = 3 * patience

// judge waits until all intents in the database have ended, and compares it with the chain. Every
// acknowledged ID must be done. Foreign has the hashes that the test itself sent from the account.
func judge(t testing.TB, chain *devnode, db string, asked map[string]string, foreign ...string) {
	t.Helper()
	judgeRevoked(t, chain, db, asked, nil, foreign...)
}

// judgeRevoked is judge, but some acknowledged IDs may be cancelled or rejected.
func judgeRevoked(t testing.TB, chain *devnode, db string, asked map[string]string, revoked []string, foreign ...string) {
	t.Helper()
	tables := readTables(t, db)
	open := -1
	defer func() {
		if t.Failed() {
			t.Logf("%d intents were acknowledged, and %d in the database are open", len(asked), open)
		}
	}()
	pgtest.Eventually(t, longPatience, "everything accepted has ended", chain.ending(func() bool {
		open = openIntents(t, tables)
		return open == 0
	}))
	// A chain that has gone back may lack final transactions for a while. A duplicate stays.
	var a evidence.Account
	var faults []string
	settled := time.NewTimer(patience)
	defer settled.Stop()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for more := true; more; {
		a = evidence.Account{Foreign: foreign}
		if faults = gather(t, chain, tables, asked, revoked, &a); len(faults) == 0 {
			break
		}
		select {
		case <-poll.C:
		case <-settled.C:
			more = false
		}
	}
	for _, fault := range faults {
		t.Error(fault)
	}
	t.Logf("%d acknowledged, %d in the database; %d transactions on the chain", len(asked), len(a.Intents), len(a.Mined))
}

// gather reads the chain and the database, and returns the faults. An intent that the database
// has and that was not acknowledged counts as a request, too.
func gather(t testing.TB, chain *devnode, tables *pgaccount.Reader, asked map[string]string, revoked []string, a *evidence.Account) (faults []string) {
	t.Helper()
	// The chain first: what is in it was stored before.
	if err := explorer.Read(t.Context(), chain.url, fundedAddress, a); err != nil {
		return []string{err.Error()}
	}
	if err := tables.Left(t.Context(), accountScope, a); err != nil {
		t.Fatal(err)
	}
	for id, does := range asked {
		a.Requests = append(a.Requests, evidence.Request{Key: id, Deed: does, IDs: []string{id}, Revocable: slices.Contains(revoked, id)})
	}
	for _, in := range a.Intents {
		if _, heard := asked[in.ID]; !heard {
			a.Requests = append(a.Requests, evidence.Request{Key: in.ID, Deed: in.Deed})
		}
	}
	return evidence.JudgeAccount(*a).Faults
}

// readTables opens the account's tables in the database until the test ends.
func readTables(t testing.TB, db string) *pgaccount.Reader {
	t.Helper()
	r, err := pgaccount.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

// openIntents counts the intents that have not ended; -1: unknown.
func openIntents(t testing.TB, tables *pgaccount.Reader) int {
	t.Helper()
	p, err := tables.Progress(t.Context())
	if err != nil {
		return -1
	}
	return p.Open
}

// history returns the funded account's transactions in the chain.
func (d *devnode) history() []evidence.Mined {
	d.t.Helper()
	var a evidence.Account
	if err := explorer.Read(d.t.Context(), d.url, fundedAddress, &a); err != nil {
		d.t.Fatal(err)
	}
	return a.Mined
}

// quantity parses a number as nodes write it.
func quantity(t testing.TB, said any) *big.Int {
	t.Helper()
	text, _ := said.(string)
	n, ok := new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16)
	if !ok {
		t.Fatalf("got %v, want a number in hexadecimal", said)
	}
	return n
}

func number(t testing.TB, said any) uint64 {
	t.Helper()
	return quantity(t, said).Uint64()
}

// The verdict on a real chain and a real database finds every fault that the test puts into
// them, and a request that was never done.
func TestTheVerdictIsReadFromTheChain(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	n := sender(t, "n1", db.URL, chain)
	var requests []evidence.Request
	for _, w := range []struct{ key, data string }{{"a", "0x01"}, {"b", "0x02"}, {"b again", "0x02"}} {
		code, body := post(t, n.api()+"/v1/transactions",
			`{"account":"payer","to":"`+nobodysAddress+`","value":"1","data":"`+w.data+`","idempotency_key":"`+w.key+`"}`)
		if code != http.StatusAccepted {
			t.Fatalf("status %d, body %v; want 202", code, body)
		}
		id := body["id"].(string)
		conch(t, "tx", "show", id, "--node", n.api(), "--wait").done(t)
		requests = append(requests, evidence.Request{Key: w.key, Deed: deed(nobodysAddress, "1", w.data), IDs: []string{id}})
	}
	n.stop(syscall.SIGTERM)
	conn, tables := db.Connect(t), readTables(t, db.URL)
	left := func(what string, counts evidence.Chain, faults int, requests ...evidence.Request) {
		t.Helper()
		a := evidence.Account{Requests: requests}
		if err := tables.Left(t.Context(), accountScope, &a); err != nil {
			t.Fatal(err)
		}
		if err := explorer.Read(t.Context(), chain.url, "0x"+strings.ToUpper(fundedAddress[2:]), &a); err != nil {
			t.Fatal(err)
		}
		if len(a.Mined) != 3 || len(a.Epochs) != 1 {
			t.Errorf("%d transactions in the chain in %d terms, want 3 in 1", len(a.Mined), len(a.Epochs))
		}
		got := evidence.JudgeAccount(a)
		if counts.Faults = got.Faults; len(got.Faults) != faults || !reflect.DeepEqual(got, counts) {
			t.Errorf("%s: got %+v, want %+v with %d faults", what, got, counts, faults)
		}
	}
	never := evidence.Request{Key: "c", Deed: deed(nobodysAddress, "1", "0x03"), IDs: []string{"none"}}
	left("as it is", evidence.Chain{Intents: 1, Done: 1}, 2, requests[0])
	left("one done twice", evidence.Chain{Intents: 2, Done: 2, Twice: 1}, 1, requests[:2]...)
	left("one never done", evidence.Chain{Intents: 3, Done: 2, Missing: 1, Twice: 1}, 3, requests[0], requests[1], never)
	do(t, conn, `UPDATE conch.intents SET fate = 'open' WHERE idempotency_key = 'a'`)
	left("one without an end", evidence.Chain{Intents: 2, Done: 2, Twice: 1}, 2, requests[:2]...)
	do(t, conn, `UPDATE conch.intents SET fate = 'cancelled' WHERE idempotency_key = 'a'`) // in a slot that has no filler
	left("one cancelled and done", evidence.Chain{Intents: 2, Done: 2, Twice: 1}, 3, requests[:2]...)
	do(t, conn, `UPDATE conch.intents SET value = 2, fate = 'rejected' WHERE idempotency_key = 'a'`) // without a slot, nothing contradicts the fate
	left("one that is another", evidence.Chain{Intents: 2, Done: 2, Twice: 1}, 2, requests[:2]...)
	do(t, conn, `DELETE FROM conch.pending_attempts WHERE nonce = 1`)
	left("a hash nobody stored", evidence.Chain{Intents: 2, Done: 2, Twice: 1}, 3, requests[:2]...)
	do(t, conn, `UPDATE conch.pending_transactions SET nonce = 9 WHERE nonce = 2`)
	left("nonces that are not used", evidence.Chain{Intents: 2, Done: 2, Twice: 1, NonceGaps: 7}, 10, requests[:2]...)
}

func do(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if tag, err := conn.Exec(t.Context(), sql); err != nil || tag.RowsAffected() == 0 { // a slot may have had several attempts
		t.Fatalf("%s: got %v, %v; want rows changed and no error", sql, tag, err)
	}
}

// blake2f is the address of a precompiled contract.
const blake2f = "0x0000000000000000000000000000000000000009"

// Bad requests are refused by the API if it can tell.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--gas-limit", "10000000")
	n := senderAt(t, "n1", db.URL, chain.ws(), "")
	api := n.api()
	for _, c := range []struct {
		body, says string
		code       int
	}{
		{`{"account":"nobody","to":"` + nobodysAddress + `","idempotency_key":"a"}`, "account", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"0xzz","idempotency_key":"b"}`, "to", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"0x0102","idempotency_key":"c"}`, "to", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"` + nobodysAddress + `","data":"0x123","idempotency_key":"d"}`, "data", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"` + nobodysAddress + `","value":"-1","idempotency_key":"e"}`, "value", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"` + nobodysAddress + `","value":"1.5","idempotency_key":"f"}`, "value", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"` + nobodysAddress + `","value":"1` + strings.Repeat("0", 80) + `","idempotency_key":"g"}`, "value", http.StatusUnprocessableEntity},
		{`{"account":"payer","idempotency_key":"h"}`, "to", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"` + nobodysAddress + `","gas":20999,"idempotency_key":"i"}`, "below 21000", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":"` + nobodysAddress + `","gas":21000,"data":"0x00","idempotency_key":"j"}`, "below 21004", http.StatusUnprocessableEntity},
		{`{"account":"payer","gas":53015,"data":"0xfe","idempotency_key":"k"}`, "below 53016", http.StatusUnprocessableEntity},
		{`{"account":"payer","to":`, "", http.StatusBadRequest},
	} {
		code, body := post(t, api+"/v1/transactions", c.body)
		if text := fmt.Sprint(body); code != c.code || !strings.Contains(text, c.says) || body["type"] == nil {
			t.Errorf("%s: status %d, body %s; want a problem with the table's status and text", c.body, code, text)
		}
	}
}

// S26, W12: an intent whose call no block can carry out is rejected in the node's own words, each after some time, and
// those behind it go on.
func TestCallsThatTheChainRefuses(t *testing.T) {
	runtest.LongRun(t) // each is asked for again for fifteen seconds
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--gas-limit", "10000000")
	n := senderAt(t, "n1", db.URL, chain.ws(), "")
	api := n.api()
	asked, rejected := map[string]string{}, []string{}
	for i, c := range []struct {
		to, data string
		gas      int
	}{
		{nobodysAddress, "0x", 10_000_001}, // more than a block has
		{nobodysAddress, "0x00", 21_004},   // below the floor of EIP-7623, which the node says
		{"", "0xfe", 0},                    // a contract whose creation fails
		{"", "0x60ef60005360016000f3", 0},  // a contract with forbidden code
		{blake2f, "0x00", 0},               // data that the precompiled contract refuses
	} {
		body := fmt.Sprintf(`{"account":"payer","to":%q,"data":%q,"gas":%d,"value":"%d","idempotency_key":"bad %d"}`, c.to, c.data, c.gas, 11+i, i)
		code, answer := post(t, api+"/v1/transactions", body)
		if code != http.StatusAccepted {
			t.Fatalf("status %d, body %v; want 202", code, answer)
		}
		id, to := fmt.Sprint(answer["id"]), cmp.Or(c.to, "0x")
		asked[id] = deed(to, fmt.Sprint(11+i), c.data)
		rejected = append(rejected, id)
	}
	maps.Copy(asked, requested(t, n, 0, 2))
	judgeRevoked(t, chain, db.URL, asked, rejected)
	for i, id := range rejected {
		is := shown(t, api, id)
		why, _ := is["why"].(string)
		if is["fate"] != "rejected" || why == "" || i == 1 && !strings.Contains(why, "gas") { // in the node's own words
			t.Errorf("bad request %d shows as %v, want it rejected with a reason", i, is)
		}
	}
}
