//go:build unix

package main_test

import (
	"net/http"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

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
