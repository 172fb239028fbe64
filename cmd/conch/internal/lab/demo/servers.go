//go:build unix

package demo

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/conchhq/conch/cmd/conch/internal/lab/devnode"
	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/explorer"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgaccount"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgledger"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// connections is the maximum per node.
const connections = 20

// blockTime is the chain's block interval. A block is final three blocks later.
const blockTime = "200ms"

// servers holds the servers and files of a demo: a database, a folder of evidence, and a chain
// if transactions are sent.
type servers struct {
	dir      string
	postgres *postmaster.Server
	url      string

	devnode *devnode.Node // nil: no transactions
	payer   *payer
	account *pgaccount.Reader
}

// prepare starts the servers and creates the schema, the ledger and the payer's files. The
// caller clears the servers up, also after an error.
func (s *servers) prepare(ctx context.Context, cfg Config, say func(string, ...any)) (err error) {
	say("starting a private Postgres …")
	if s.postgres, err = postmaster.Start(ctx, postmaster.Config{MaxConnections: 50 + connections*cfg.Nodes}); err != nil {
		return err
	}
	s.url = s.postgres.URL("postgres")
	// If the demo is killed, the next start removes this folder with the server's.
	if s.dir, err = s.postgres.Folder("demo"); err != nil {
		return err
	}
	say("creating the schema and a ledger …")
	if err := node.SchemaUp(ctx, pgmint.Config{URL: s.url}, cfg.Kinds, func(string) {}); err != nil {
		return err
	}
	if err := pgledger.Create(ctx, s.url); err != nil || cfg.Devnode == "" {
		return err
	}
	say("starting a private chain …")
	if s.devnode, err = devnode.Start(ctx, cfg.Devnode, "--block-time", blockTime); err != nil {
		return err
	}
	if s.payer, err = newPayer(s.dir, s.devnode, cfg.Lease); err != nil {
		return err
	}
	s.account, err = pgaccount.Open(ctx, s.url)
	return err
}

func (s *servers) socket(number int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%d.api", number))
}

// chainGone is closed when the chain ends; without a chain it is nil and never closed.
func (s *servers) chainGone() <-chan struct{} {
	if s.devnode == nil {
		return nil
	}
	return s.devnode.Gone()
}

// clear ends the chain and the server and removes the folder.
func (s *servers) clear() error {
	var fault error
	if s.account != nil {
		s.account.Close(context.Background())
	}
	if s.devnode != nil {
		s.devnode.Stop()
	}
	if s.postgres != nil {
		fault = s.postgres.Stop()
	}
	if fault != nil {
		return fmt.Errorf("clearing up: %w", fault)
	}
	return nil
}

// collect reads the evidence. All nodes must have ended.
func (s *servers) collect(ctx context.Context) (r evidence.Record, err error) {
	if r.Ledger, err = pgledger.Read(ctx, s.url); err != nil {
		return r, err
	}
	if r.Outside, err = evidence.ReadActs(evidence.OutsideFile(s.dir)); err != nil {
		return r, err
	}
	if r.Acks, err = evidence.ReadAcks(s.dir); err != nil || s.devnode == nil {
		return r, err
	}
	r.Account = &evidence.Account{}
	if err := s.account.Left(ctx, PayerScope, r.Account); err != nil {
		return r, err
	}
	return r, explorer.Read(ctx, s.devnode.HTTP, s.payer.address, r.Account)
}
