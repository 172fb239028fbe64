package main_test

import (
	"fmt"
	"maps"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// W19: in relaxed order others pass a transaction that the account cannot pay, and one that reverts, which is
// rejected in the end. The API says why the poor one waits and when it is tried again; a successor of a leader that
// was killed goes on counting; once there is money it is paid.
func TestRelaxedOrder(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	n := senderAt(t, "n1", db.URL, chain.ws(), "order = \"relaxed\"\n").leads(1)
	api := n.api()
	const much = "1000000000000000000000001" // a million ether and one wei
	code, body := post(t, api+"/v1/transactions", intentJSON(anothersAddress, much, "much"))
	if code != 202 {
		t.Fatalf("status %d, body %v; want 202", code, body)
	}
	dear := fmt.Sprint(body["id"])
	code, body = post(t, api+"/v1/transactions", `{"account":"payer","to":"","data":"0xfe","value":"0","idempotency_key":"odd"}`) // the opcode INVALID
	if code != 202 {
		t.Fatalf("status %d, body %v; want 202", code, body)
	}
	reverts := fmt.Sprint(body["id"])
	asked := requested(t, n, 0, 20)
	books := openBooks(t, db.URL)
	books.end(chain, each("finalized", 20))
	why := func(api string) (refusals float64) {
		is := shown(t, api, dear)
		waits, _ := is["waiting_for"].(map[string]any)
		if refusals, _ = waits["refusals"].(float64); is["fate"] != "queued" || waits["until"] == nil || refusals < 1 {
			t.Errorf("the dear one shows as %v, want it queued, with the number of refusals and when it is tried again", is)
		}
		return refusals
	}
	counted := why(api)
	n.stop(syscall.SIGKILL)
	n = senderAt(t, "n2", db.URL, chain.ws(), "order = \"relaxed\"\n").leads(2)
	pgtest.Eventually(t, patience, "the successor counts on", func() bool { return why(n.api()) > counted })
	maps.Copy(asked, requested(t, n, 20, 25))
	pgtest.Eventually(t, patience, "the one that reverts is rejected", func() bool {
		chain.call("dev_mine")
		return shown(t, n.api(), reverts)["fate"] == "rejected"
	})
	chain.call("dev_fund", fundedAddress, hexed(5e9))
	asked[dear] = deed(anothersAddress, much, "0x")
	judgeRevoked(t, chain, db.URL, asked, []string{reverts})
}
