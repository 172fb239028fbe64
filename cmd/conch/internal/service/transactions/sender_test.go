//go:build unix

package transactions

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
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A node with one account: an alarm is raised while the account cannot pay, then its transaction is
// done. A second term uses the connection of the first. No goroutine is left behind.
func TestALifeOfAnAccount(t *testing.T) {
	t.Parallel()
	testChain := chaintest.New(chaintest.Config{Depth: 2})
	poor := testChain.Account("poor", 0)
	c := Chain{Name: "test", Kind: KindEVM, ChainID: 1}
	cfg := config.Config{
		Node:     config.Node{Listen: "127.0.0.1:0"},
		Database: pgmint.Config{URL: pgtest.New(t).URL}, Named: true,
		Election: election.Config{ID: "n1", Lease: time.Second, Takeover: mint.Strict},
		Sections: []config.Section{&Section{chains: []Chain{c}, accounts: []Account{{Name: "poor", Chain: c, Scope: "pending:test", Address: poor}}}},
	}
	log := &nodetest.Log{}
	ctx, cancel := context.WithCancel(t.Context())
	ended, mined := make(chan error, 1), make(chan struct{})
	var connections atomic.Int32
	go func() { testChain.Run(ctx, 20*time.Millisecond); close(mined) }()
	go func() {
		ended <- node.Run(ctx, node.Options{
			Config: cfg, Log: slog.New(slog.NewTextHandler(log, nil)),
			Kinds: []node.Kind{kindOf(func(Chain) (chain.Chain, error) { connections.Add(1); return testChain.Line(), nil })},
		})
	}()
	log.Says(t, "msg=sending", "account=poor", "address="+poor.String(), "epoch=1")
	api := "http://" + log.Find(t, `msg="serving the API" address=(\S+)`) + "/v1/transactions"
	body := `{"account":"poor","to":"` + chaintest.Address("x").String() + `","value":"5"}`
	answer := talk(t, http.MethodPost, api, body)
	log.Says(t, "level=ERROR", "ALARM: the account cannot pay", "account=poor", "cause=funds")
	if text := talk(t, http.MethodGet, strings.Replace(api, "/v1/transactions", "/metrics", 1), ""); !strings.Contains(text, `{account="poor",state="queued"} 1`) {
		t.Errorf("got metrics %s, want one queued transaction", text)
	}
	testChain.Fund(poor, 1e18)
	log.Says(t, `msg="alarm ended"`, "account=poor", "cause=funds")
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(answer)
	if id == nil {
		t.Fatal(answer)
	}
	pgtest.Eventually(t, nodetest.Patience, "it is done", func() bool {
		return strings.Contains(talk(t, http.MethodGet, api+"/"+id[1], ""), `"fate":"done"`)
	})
	talk(t, http.MethodPost, strings.Replace(api, "/v1/transactions", "/v1/scopes/pending:test/drain", 1), "")
	log.Says(t, "msg=sending", "account=poor", "epoch=2")
	if n := connections.Load(); n != 1 {
		t.Errorf("got %d connections to the chain for two terms, want 1", n)
	}
	cancel()
	pgtest.Within(t, nodetest.Patience, "the chain ends", func() { <-mined })
	nodetest.Ends(t, ended)
	log.Says(t, "leadership released", "scope=pending:test")
}

func talk(t *testing.T, method, url, body string) string {
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
