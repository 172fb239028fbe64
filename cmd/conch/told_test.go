package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

// What a service builds on that knows conch by HTTP alone, with a real chain: the same payment sent twice under a header's key is one; an
// address with a wrong checksum is no receiver; a call that reverts is told from one that has succeeded, with the contract's reason.
func TestWhatAServiceIsTold(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	n := sender(t, "n1", migrated(t).URL, startDevnode(t))
	pay := func(key, value string) (int, string) {
		body := fmt.Sprintf(`{"account":"payer","to":%q,"value":%q}`, nobodysAddress, value)
		return sends(t, http.MethodPost, n.api()+"/v1/transactions", body, http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}})
	}
	_, first := pay("once", "5")
	for key, want := range map[string]string{"once": first, `"once"`: first} {
		if code, text := pay(key, "5"); code != http.StatusAccepted || text != want {
			t.Errorf("the key %s again: %d %s, want %s", key, code, text, want)
		}
	}
	if code, text := pay("once", "6"); code != http.StatusConflict || !strings.Contains(text, "key-taken") {
		t.Errorf("another payment under the key: %d %s, want 409", code, text)
	}

	const wrong, right = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	conch(t, "tx", "send", "--node", n.api(), "--account", "payer", "--to", wrong).refused(t, 2, "wrong checksum", right)

	// The code of a contract that ends at once with Error("no money").
	reverts := "0x6064600c60003960646000fd08c379a0" + fmt.Sprintf("%064x%064x", 32, 8) + fmt.Sprintf("%x", "no money") + strings.Repeat("0", 48)
	sent := conch(t, "tx", "send", "--node", n.api(), "--account", "payer", "--data", reverts, "--gas", "100000", "--key", "reverts", "--wait")
	if sent.code != 1 || !strings.Contains(sent.err, "had no effect: its call failed: no money (as replayed on the state after block") || !strings.Contains(sent.out, "outcome  reverted") {
		t.Errorf("a call that reverts: exit code %d, %s%s", sent.code, sent.out, sent.err)
	}
	if list := conch(t, "tx", "list", "--node", n.api()).done(t); !strings.Contains(list, "reverted") || !strings.Contains(list, "OUTCOME") {
		t.Errorf("the list is %s", list)
	}
}
