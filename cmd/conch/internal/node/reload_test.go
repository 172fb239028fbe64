//go:build unix

package node_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// counting is a service that counts how often use is called, and refuses when told to.
type counting struct {
	node.Plain
	refuses *atomic.Bool
	used    *atomic.Int32
}

func (c counting) Prepare(context.Context, config.Config) (func(), error) {
	if c.refuses != nil && c.refuses.Load() {
		return nil, errors.New("only a restart can do that")
	}
	return func() { c.used.Add(1) }, nil
}

func kindOf(table string, s node.Service) node.Kind {
	return node.Kind{
		Section: func() config.Section { return configtest.Plain(table) },
		Open:    func(node.Frame) node.Service { return s },
	}
}

// A reload that one service refuses changes neither another service nor the tokens. A reload
// that none refuses changes them all.
func TestAReloadThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	was, is := strings.Repeat("a", 32), strings.Repeat("b", 32)
	file := filepath.Join(t.TempDir(), "token")
	write := func(secret string) {
		if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(was)
	cfg := config.Config{Node: config.Node{Listen: "127.0.0.1:0", Standalone: true, TokenFile: file}, Sections: []config.Section{configtest.Plain("first", trial("a"))}}
	var refuses atomic.Bool
	var used atomic.Int32
	log, reload := &nodetest.Log{}, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- node.Run(ctx, node.Options{
			Config: cfg, Log: slog.New(slog.NewTextHandler(log, nil)), Reload: reload,
			Load:  func() (config.Config, error) { return cfg, nil },
			Kinds: []node.Kind{kindOf("first", counting{used: &used}), kindOf("second", counting{used: &used, refuses: &refuses})},
		})
	}()
	log.Says(t, "msg=\"node started\"")
	api := "http://" + log.Value(t, "serving the API", "address") + "/v1/scopes"
	expect := func(when string, before, after int, count int32) {
		t.Helper()
		if n := used.Load(); n != count {
			t.Errorf("%s: use was called %d times, want %d", when, n, count)
		}
		if b, a := knocks(t, api, was), knocks(t, api, is); b != before || a != after {
			t.Errorf("%s: status %d for the old token and %d for the new one, want %d and %d", when, b, a, before, after)
		}
	}

	write(is)
	refuses.Store(true)
	nodetest.Rereads(t, reload)
	log.Says(t, "configuration not changed", "only a restart can do that")
	expect("after a reload that failed", http.StatusOK, http.StatusUnauthorized, 2)
	refuses.Store(false)
	nodetest.Rereads(t, reload)
	log.Says(t, "configuration read again")
	expect("after a good reload", http.StatusUnauthorized, http.StatusOK, 4)
	cancel()
	nodetest.Ends(t, ended)
}

// knocks returns the status of a request with a token.
func knocks(t *testing.T, url, secret string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	r.Close = true // else pgtest.Main finds its connection's goroutine
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

var (
	errResult = errors.New("the result")
	errWhy    = errors.New("its work is done")
)

// final is a service whose role ends the node.
type final struct{ node.Plain }

func (final) Work(config.Role, func(error)) (node.Work, func(context.Context)) {
	return func(context.Context, election.Leadership) error {
		return &node.FinalError{Result: errResult, Why: errWhy}
	}, nil
}

// A role that returns a FinalError ends its node: Run returns the result, and the history has the reason.
func TestAFinalRoleEndsItsNode(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	led := config.Config{
		Database: pgmint.Config{URL: db.URL}, Named: true, Election: election.Config{ID: "n1"},
		Node: config.Node{Listen: config.Off}, Sections: []config.Section{configtest.Plain("final", trial("a"))},
	}
	alone := config.Config{Node: config.Node{Listen: config.Off, Standalone: true}, Sections: led.Sections}
	for name, cfg := range map[string]config.Config{"elected": led, "standalone": alone} {
		if err := node.Run(t.Context(), node.Options{
			Kinds: []node.Kind{kindOf("final", final{})}, Config: cfg, Log: slog.New(slog.DiscardHandler),
		}); !errors.Is(err, errResult) {
			t.Errorf("%s: Run returned %v, want the role's result", name, err)
		}
	}
	o, err := pgops.Observe(t.Context(), led.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	events, err := o.History(t.Context(), "a", 10)
	if err != nil || len(events) != 2 || events[1].Reason != "stepping down: "+errWhy.Error() {
		t.Errorf("the history is %+v, %v; want a release with the role's reason", events, err)
	}
}
