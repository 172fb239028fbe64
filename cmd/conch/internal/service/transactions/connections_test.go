//go:build unix

package transactions

import (
	"context"
	"log/slog"
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

// countingDialer counts connections to a chain.
type countingDialer struct {
	testChain      *chaintest.Node
	opened, closed atomic.Int32
}

type countedConn struct {
	chain.Chain
	of *countingDialer
}

func (t *countingDialer) dial(Chain) (chain.Chain, error) {
	t.opened.Add(1)
	return countedConn{t.testChain.Line(), t}, nil
}

func (c countedConn) Close() { c.of.closed.Add(1) }

// oneAccount is a configuration with one account.
func oneAccount(t *testing.T, testChain *chaintest.Node) config.Config {
	c := Chain{Name: "test", Kind: KindEVM, ChainID: 1}
	return config.Config{
		Node:     config.Node{Listen: "127.0.0.1:0"},
		Database: pgmint.Config{URL: pgtest.New(t).URL}, Named: true,
		Election: election.Config{ID: "n1", Lease: time.Second, Takeover: mint.Strict},
		Sections: []config.Section{&Section{chains: []Chain{c}, accounts: []Account{{Name: "one", Chain: c, Scope: "pending:test", Address: testChain.Account("one", 0)}}}},
	}
}

// A reload that removes an account closes its connection, although its elector goes on.
func TestARemovedAccountIsDisconnected(t *testing.T) {
	t.Parallel()
	dialer := &countingDialer{testChain: chaintest.New(chaintest.Config{})}
	cfg := oneAccount(t, dialer.testChain)
	fewer := cfg
	stays := nodetest.Given(config.Role{Name: "stays", Scope: "stays", Lease: time.Second}) // led by the same elector
	cfg.Sections = append(cfg.Sections, stays)
	fewer.Sections = []config.Section{&Section{}, stays}
	log, reload := &nodetest.Log{}, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- node.Run(ctx, node.Options{
			Config: cfg, Log: slog.New(slog.NewTextHandler(log, nil)), Kinds: []node.Kind{kindOf(dialer.dial), nodetest.Bells()}, Reload: reload,
			Load: func() (config.Config, error) { return fewer, nil },
		})
	}()
	log.Says(t, "msg=sending", "account=one")
	if opened, closed := dialer.opened.Load(), dialer.closed.Load(); opened != 1 || closed != 0 {
		t.Errorf("while the node leads: got %d connections opened and %d closed, want 1 and 0", opened, closed)
	}
	nodetest.Rereads(t, reload)
	pgtest.Eventually(t, nodetest.Patience, "the connection is closed", func() bool { return dialer.closed.Load() == 1 })
	cancel()
	nodetest.Ends(t, ended)
	if n := dialer.opened.Load(); n != 1 {
		t.Errorf("got %d connections opened, want 1", n)
	}
}

// A node that never leads opens no connection to the chain.
func TestAFollowerForEverHasNoConnection(t *testing.T) {
	t.Parallel()
	dialer := &countingDialer{testChain: chaintest.New(chaintest.Config{})}
	cfg := oneAccount(t, dialer.testChain)
	cfg.Election.Follower = true
	log := &nodetest.Log{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- node.Run(ctx, node.Options{Config: cfg, Log: slog.New(slog.NewTextHandler(log, nil)), Kinds: []node.Kind{kindOf(dialer.dial)}})
	}()
	log.Says(t, `msg="serving the API"`)
	cancel()
	nodetest.Ends(t, ended)
	if n := dialer.opened.Load(); n != 0 {
		t.Errorf("got %d connections opened, want none", n)
	}
}
