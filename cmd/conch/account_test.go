//go:build unix

package main_test

import (
	"net/http"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/explorer"
	"github.com/conchhq/conch/internal/runtest"
)

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
