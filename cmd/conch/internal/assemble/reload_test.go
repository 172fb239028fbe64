//go:build unix

package assemble_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/assemble"
	"github.com/conchhq/conch/cmd/conch/internal/config"
)

// A reload that fails late, at what only a restart can do, has not changed the tokens
// either; one that does not fail changes them with the rest.
func TestAReloadThatFailsKeepsTheTokens(t *testing.T) {
	t.Parallel()
	was, is := strings.Repeat("a", 32), strings.Repeat("b", 32)
	file := filepath.Join(t.TempDir(), "token")
	write := func(secret string) {
		if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(was)
	good := config.Config{
		Node:  config.Node{Listen: "127.0.0.1:0", Standalone: true, TokenFile: file},
		Files: []config.Files{{Scope: "data", Dir: t.TempDir()}},
	}
	moved := good
	moved.Files = []config.Files{{Scope: "data", Dir: t.TempDir()}}
	var next atomic.Pointer[config.Config]
	log, reload := &logbook{}, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- assemble.Run(ctx, assemble.Options{
			Config: good, Log: slog.New(slog.NewTextHandler(log, nil)), Reload: reload,
			Load: func() (config.Config, error) { return *next.Load(), nil },
		})
	}()
	log.says(t, "msg=\"node started\"")
	api := "http://" + log.value(t, "serving the API", "address") + "/v1/scopes"
	expect := func(when string, before, after int) {
		t.Helper()
		if b, a := knocks(t, api, was), knocks(t, api, is); b != before || a != after {
			t.Errorf("%s: %d for the old token and %d for the new one, want %d and %d", when, b, a, before, after)
		}
	}

	write(is)
	next.Store(&moved)
	rereads(t, reload)
	log.says(t, "configuration not changed", "can not move to another dir")
	expect("after a reload that failed", http.StatusOK, http.StatusUnauthorized)
	next.Store(&good)
	rereads(t, reload)
	log.says(t, "configuration read again")
	expect("after a good one", http.StatusUnauthorized, http.StatusOK)
	cancel()
	ends(t, ended)
}

// knocks asks a node with a token.
func knocks(t *testing.T, url, secret string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Close = true // or its connection would be found at the end
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}
