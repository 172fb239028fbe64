//go:build unix

package assemble_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/cmd/conch/internal/assemble"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A life of a node with an account in this very process: an account that can not pay
// is alarmed about, loudly, until it can; then what waited is done. A second term finds
// the line to the chain that the first one had. Nothing is left running behind it.
func TestALifeOfAnAccount(t *testing.T) {
	t.Parallel()
	node := chaintest.New(chaintest.Config{Depth: 2})
	poor := node.Account("poor", 0)
	c := config.Chain{Name: "test", Kind: config.KindEVM, ChainID: 1}
	cfg := config.Config{
		Node:     config.Node{Listen: "127.0.0.1:0"},
		Database: pgmint.Config{URL: pgtest.New(t).URL}, Named: true,
		Election: election.Config{ID: "n1", Lease: time.Second, Takeover: election.Strict},
		Chains:   []config.Chain{c},
		Accounts: []config.Account{{Name: "poor", Chain: c, Scope: "pending:test", Address: poor}},
	}
	log := &logbook{}
	ctx, cancel := context.WithCancel(t.Context())
	ended, mined := make(chan error, 1), make(chan struct{})
	var lines atomic.Int32
	go func() { node.Run(ctx, 20*time.Millisecond); close(mined) }()
	go func() {
		ended <- assemble.Run(ctx, assemble.Options{
			Config: cfg, Log: slog.New(slog.NewTextHandler(log, nil)),
			Chain: func(config.Account) (chain.Chain, error) { lines.Add(1); return node.Line(), nil },
		})
	}()
	log.says(t, "msg=sending", "account=poor", "address="+poor.String(), "epoch=1")
	api := "http://" + log.find(t, `msg="serving the API" address=(\S+)`) + "/v1/transactions"
	body := `{"account":"poor","to":"` + chaintest.Address("x").String() + `","value":"5"}`
	answer := exchange(t, http.MethodPost, api, body)
	log.says(t, "level=ERROR", "ALARM: the account can not pay", "account=poor", "cause=funds")
	if text := exchange(t, http.MethodGet, strings.Replace(api, "/v1/transactions", "/metrics", 1), ""); !strings.Contains(text, `{account="poor",state="queued"} 1`) {
		t.Errorf("what waits is not counted: %s", text)
	}
	node.Fund(poor, 1e18)
	log.says(t, `msg="alarm ended"`, "account=poor", "cause=funds")
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(answer)
	if id == nil {
		t.Fatal(answer)
	}
	pgtest.Eventually(t, patience, "it is done", func() bool {
		return strings.Contains(exchange(t, http.MethodGet, api+"/"+id[1], ""), `"fate":"done"`)
	})
	exchange(t, http.MethodPost, strings.Replace(api, "/v1/transactions", "/v1/scopes/pending:test/drain", 1), "")
	log.says(t, "msg=sending", "account=poor", "epoch=2")
	if n := lines.Load(); n != 1 {
		t.Errorf("%d lines to the chain were opened for two terms", n)
	}
	cancel()
	pgtest.Within(t, patience, "the chain ends", func() { <-mined })
	ends(t, ended)
	log.says(t, "leadership released", "scope=pending:test")
}

// find waits for a line and returns a part of it.
func (l *logbook) find(t *testing.T, pattern string) string {
	t.Helper()
	var found []string
	pgtest.Eventually(t, patience, "the log has "+pattern, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		found = regexp.MustCompile(pattern).FindStringSubmatch(l.text.String())
		return found != nil
	})
	return found[1]
}

func exchange(t *testing.T, method, url, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
