//go:build unix

package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A caller without a known token learns nothing; one that may read cannot drain. The leader stays
// until a caller that may operate asks.
func TestTokensOfANode(t *testing.T) {
	t.Parallel()
	db, w := migrated(t), newCoworker(t)
	n := prepareDaemon(t, "n1", db.URL,
		"listen = \"127.0.0.1:0\"\ntoken_file = \"operate\"\nread_token_file = \"read\"\n"+w.role("payments", ""))
	operate, read := strings.Repeat("o", 32), strings.Repeat("r", 32)
	for name, secret := range map[string]string{"operate": operate, "read": read} {
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.start().says("node started")
	w.wants(t, "payments", "n1")
	scope := "http://" + n.value("serving the API", "address") + "/v1/scopes/payments"
	for _, c := range []struct {
		token       string
		gate, drain int
	}{
		{"", 401, 401},
		{strings.Repeat("x", 32), 401, 401},
		{read, 200, 403},
		{operate, 200, 200},
	} {
		gate, drain := asked(t, http.MethodGet, scope+"/gate", c.token), asked(t, http.MethodPost, scope+"/drain", c.token)
		if gate != c.gate || drain != c.drain {
			t.Errorf("with the token %.1q the gate answers %d and the drain %d, want %d and %d", c.token, gate, drain, c.gate, c.drain)
		}
		if stops := len(w.seen("stop", "payments")); (stops > 0) != (c.token == operate) {
			t.Errorf("with the token %.1q the role was stopped %d times, want that only of one that may operate", c.token, stops)
		}
	}
	for _, secret := range []string{operate, read} {
		if strings.Contains(n.text(), secret) {
			t.Error("the log contains a token")
		}
	}
}
