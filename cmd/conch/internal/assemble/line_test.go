//go:build unix

package assemble_test

import (
	"context"
	"log/slog"
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

// telephone counts the lines to a chain.
type telephone struct {
	node           *chaintest.Node
	opened, closed atomic.Int32
}

type call struct {
	chain.Chain
	of *telephone
}

func (t *telephone) dial(config.Account) (chain.Chain, error) {
	t.opened.Add(1)
	return call{t.node.Line(), t}, nil
}

func (c call) Close() { c.of.closed.Add(1) }

// household is a configuration with one account.
func household(t *testing.T, node *chaintest.Node) config.Config {
	c := config.Chain{Name: "test", Kind: config.KindEVM, ChainID: 1}
	return config.Config{
		Node:     config.Node{Listen: "127.0.0.1:0"},
		Database: pgmint.Config{URL: pgtest.New(t).URL}, Named: true,
		Election: election.Config{ID: "n1", Lease: time.Second, Takeover: election.Strict},
		Chains:   []config.Chain{c},
		Accounts: []config.Account{{Name: "one", Chain: c, Scope: "pending:test", Address: node.Account("one", 0)}},
	}
}

// Whoever is told that an account is not its any more lets go of the line to the chain
// that it kept, and not with the end of the process or of its elector.
func TestARetiredAccountHangsUp(t *testing.T) {
	t.Parallel()
	phone := &telephone{node: chaintest.New(chaintest.Config{})}
	cfg := household(t, phone.node)
	cfg.Roles = []config.Role{trial("stays")} // in the same crew
	fewer := cfg
	fewer.Accounts = nil
	log, reload := &logbook{}, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- assemble.Run(ctx, assemble.Options{
			Config: cfg, Log: slog.New(slog.NewTextHandler(log, nil)), Chain: phone.dial, Reload: reload,
			Load: func() (config.Config, error) { return fewer, nil },
		})
	}()
	log.says(t, "msg=sending", "account=one")
	if opened, closed := phone.opened.Load(), phone.closed.Load(); opened != 1 || closed != 0 {
		t.Errorf("%d lines opened and %d closed by who leads", opened, closed)
	}
	rereads(t, reload)
	pgtest.Eventually(t, patience, "the line is let go of", func() bool { return phone.closed.Load() == 1 })
	cancel()
	ends(t, ended)
	if n := phone.opened.Load(); n != 1 {
		t.Errorf("%d lines were opened", n)
	}
}

// Who never leads keeps no line to the chain.
func TestAFollowerForEverHasNoLine(t *testing.T) {
	t.Parallel()
	phone := &telephone{node: chaintest.New(chaintest.Config{})}
	cfg := household(t, phone.node)
	cfg.Election.Follower = true
	log := &logbook{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- assemble.Run(ctx, assemble.Options{Config: cfg, Log: slog.New(slog.NewTextHandler(log, nil)), Chain: phone.dial})
	}()
	log.says(t, `msg="serving the API"`)
	cancel()
	ends(t, ended)
	if n := phone.opened.Load(); n != 0 {
		t.Errorf("it opened %d lines", n)
	}
}
