//go:build unix

package main_test

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	verdicts "github.com/conchhq/conch/cmd/conch/internal/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/explorer"
	"github.com/conchhq/conch/cmd/conch/internal/pgaccount"
)

// What the demo's verdict is read from, on a real chain and a real database: they are
// found whole, and whatever is doctored in either, or asked for in vain, is found.
func TestTheVerdictIsReadFromTheChain(t *testing.T) {
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	n := sender(t, "n1", db.URL, chain)
	var wishes []verdicts.Wish
	for _, w := range []verdicts.Wish{{Key: "a", Mark: "0x01"}, {Key: "b", Mark: "0x02"}, {Key: "b again", Mark: "0x02"}} {
		code, body := post(t, n.api()+"/v1/transactions",
			`{"account":"payer","to":"`+nobodysAddress+`","value":"1","data":"`+w.Mark+`","idempotency_key":"`+w.Key+`"}`)
		if code != http.StatusAccepted {
			t.Fatalf("%d %v", code, body)
		}
		w.IDs = []string{body["id"].(string)}
		conch(t, "tx", "show", w.IDs[0], "--node", n.api(), "--wait").done(t)
		wishes = append(wishes, w)
	}
	n.stop(syscall.SIGTERM)
	conn := db.Connect(t)
	left := func(wishes ...verdicts.Wish) verdicts.Chain {
		t.Helper()
		a := verdicts.Account{Wishes: wishes}
		r, err := pgaccount.Open(t.Context(), db.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close(context.Background())
		if err := r.Left(t.Context(), accountScope, &a); err != nil {
			t.Fatal(err)
		}
		if a.Mined, a.Final, err = explorer.Read(t.Context(), chain.url, "0x"+strings.ToUpper(fundedAddress[2:])); err != nil {
			t.Fatal(err)
		}
		if len(a.Mined) != 3 || len(a.Epochs) != 1 {
			t.Errorf("%d transactions in the chain, in %d terms", len(a.Mined), len(a.Epochs))
		}
		return verdicts.JudgeAccount(a)
	}
	want := func(what string, got, want verdicts.Chain) {
		t.Helper()
		if got.First = ""; got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	never := verdicts.Wish{Key: "c", Mark: "0x03", IDs: []string{"none"}}
	want("as it is", left(wishes[0]), verdicts.Chain{Intents: 1, Done: 1, Foreign: 2})
	want("one done twice", left(wishes[:2]...), verdicts.Chain{Intents: 2, Done: 2, Twice: 1})
	want("one never done", left(wishes[0], wishes[1], never), verdicts.Chain{Intents: 3, Done: 2, Missing: 1, Twice: 1, Endless: 1})
	do(t, conn, `UPDATE conch.intents SET fate = 'open' WHERE idempotency_key = 'a'`)
	want("one without an end", left(wishes[:2]...), verdicts.Chain{Intents: 2, Done: 2, Twice: 1, Endless: 1})
	do(t, conn, `DELETE FROM conch.pending_attempts WHERE nonce = 1`)
	want("a hash nobody stored", left(wishes[:2]...), verdicts.Chain{Intents: 2, Done: 2, Twice: 1, Endless: 1, Foreign: 1})
	do(t, conn, `UPDATE conch.pending_transactions SET nonce = 9 WHERE nonce = 2`)
	want("nonces that are not used", left(wishes[:2]...), verdicts.Chain{Intents: 2, Done: 2, Twice: 1, Endless: 1, Foreign: 1, NonceGaps: 7})
}

func do(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if tag, err := conn.Exec(t.Context(), sql); err != nil || tag.RowsAffected() == 0 { // a slot may have had several attempts
		t.Fatalf("%s: %v, %v", sql, tag, err)
	}
}
