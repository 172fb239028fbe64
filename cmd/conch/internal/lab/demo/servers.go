//go:build unix

package demo

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/explorer"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgaccount"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgcrons"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgledger"
	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
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
	stage.Site // without a chain no transactions are sent

	dir     string
	url     string
	payer   *payer
	shop    *receiver // nil: no transactions are sent
	account *pgaccount.Reader
}

// prepare starts the servers and creates the schema, the ledger and the payer's files. The
// caller clears the servers up, also after an error.
func (s *servers) prepare(ctx context.Context, cfg Config, say func(string, ...any)) (err error) {
	say("starting a private Postgres …")
	if err := s.StartPostgres(ctx, postmaster.Config{MaxConnections: 50 + connections*(cfg.Nodes+1)}); err != nil {
		return err
	}
	s.url = s.Postgres.URL("postgres")
	// If the demo is killed, the next start removes this folder with the server's.
	if s.dir, err = s.Postgres.Folder("demo"); err != nil {
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
	if err := s.StartChain(ctx, cfg.Devnode, "--block-time", blockTime); err != nil {
		return err
	}
	secret := filepath.Join(s.dir, "webhooks")
	if s.shop, err = newReceiver(ctx, secret); err != nil {
		return err
	}
	s.Afterwards(s.shop.server.Close)
	if s.payer, err = newPayer(s.dir, s.Chain, cfg.Lease, s.shop, secret); err != nil {
		return err
	}
	if s.account, err = pgaccount.Open(ctx, s.url); err == nil {
		s.Afterwards(func() error { s.account.Close(context.Background()); return nil })
	}
	return err
}

func (s *servers) socket(number int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%d.api", number))
}

// collect reads the evidence. All nodes must have ended.
func (s *servers) collect(ctx context.Context) (r evidence.Record, err error) {
	if r.Ledger, err = pgledger.Read(ctx, s.url); err != nil {
		return r, err
	}
	if r.Outside, err = evidence.ReadActs(evidence.OutsideFile(s.dir)); err != nil {
		return r, err
	}
	if r.Acks, err = evidence.ReadAcks(s.dir); err != nil || s.Chain == nil {
		return r, err
	}
	if r.Cron, err = pgcrons.Read(ctx, s.url, cronName); err != nil {
		return r, err
	}
	r.Account, r.Hook = &evidence.Account{}, s.shop.told()
	if err := s.account.Left(ctx, PayerScope, r.Account); err != nil {
		return r, err
	}
	return r, explorer.Read(ctx, s.Chain.HTTP, s.payer.address, r.Account)
}
