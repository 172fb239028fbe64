//go:build unix

package node_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
)

// One Kind is enough for a service: its table is read, its roles lead, its route is served
// and documented, its metric is exported, and doctor has its finding.
func TestAServiceIsOneFolderAndOneLine(t *testing.T) {
	t.Parallel()
	kinds := []node.Kind{nodetest.Bells()}
	cfg, err := configtest.Load(t, "[node]\nstandalone = true\nlisten = \"127.0.0.1:0\"\n[[bells]]\nscope = \"big\"\n[[bells]]\nscope = \"small\"\n",
		config.Source{Sections: node.Sections(kinds)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := &nodetest.Log{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- node.Run(ctx, node.Options{Config: cfg, Kinds: kinds, Log: slog.New(slog.NewTextHandler(log, nil))})
	}()
	log.Says(t, "msg=ringing", "scope=big")
	log.Says(t, "msg=ringing", "scope=small")
	api := "http://" + log.Value(t, "serving the API", "address")
	for path, says := range map[string]string{
		"/v1/bells": "", "/v1/openapi.yaml": "\n  /v1/bells:\n", "/metrics": "\nconch_bells_rung_total 2\n",
	} {
		if status, text := read(t, api+path); status != http.StatusOK || !strings.Contains(text, says) {
			t.Errorf("%s: status %d, body %s; want 200 and the service's part", path, status, text)
		}
	}
	cancel()
	nodetest.Ends(t, ended)
	if found := kinds[0].Examine(t.Context(), cfg); len(found) != 1 || found[0].Check != "bells" || found[0].Detail != "2 to be rung" {
		t.Errorf("findings %+v, want one of bells with 2 to be rung", found)
	}
}

// closed is a service that notes whether the node was over when it was closed.
type closed struct {
	node.Plain

	over context.Context //nolint:containedctx // the frame's
	is   *bool
}

func (c closed) Close() { *c.is = c.over.Err() != nil }

// A node that cannot start is over before its services are closed: what they do at that moment fails, and is no fault that
// somebody has to read of beside the real one.
func TestANodeThatCannotStartIsOver(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	is := false
	kind := kindOf("first", node.Plain{})
	kind.Open = func(f node.Frame) node.Service { return closed{over: f.Over, is: &is} }
	cfg := config.Config{
		Node:     config.Node{Listen: taken.Addr().String(), Standalone: true},
		Sections: []config.Section{configtest.Plain("first", trial("a"))},
	}
	err = node.Run(t.Context(), node.Options{Kinds: []node.Kind{kind}, Config: cfg, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "is in use") || !is {
		t.Errorf("Run returned %v, and the node was over: %t; want that the address is in use, and true", err, is)
	}
}

func read(t *testing.T, url string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(all)
}
