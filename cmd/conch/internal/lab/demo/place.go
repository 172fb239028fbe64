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

// place holds the servers and files of a demo: a database, a folder of evidence, and a chain
// if transactions are sent.
type place struct {
	dir    string
	server *postmaster.Server
	url    string

	devnode *devnode.Node // nil: no transactions
	payer   *payer
	account *pgaccount.Reader
}

// prepare starts the servers and creates the schema, the ledger and the payer's files. The
// caller clears the place, also after an error.
func (p *place) prepare(ctx context.Context, cfg Config, say func(string, ...any)) (err error) {
	say("starting a private Postgres …")
	if p.server, err = postmaster.Start(ctx, postmaster.Config{MaxConnections: 50 + connections*cfg.Nodes}); err != nil {
		return err
	}
	p.url = p.server.URL("postgres")
	// If the demo is killed, the next start removes this folder with the server's.
	if p.dir, err = p.server.Folder("demo"); err != nil {
		return err
	}
	say("creating the schema and a ledger …")
	if err := node.SchemaUp(ctx, pgmint.Config{URL: p.url}, cfg.Kinds, func(string) {}); err != nil {
		return err
	}
	if err := pgledger.Create(ctx, p.url); err != nil || cfg.Devnode == "" {
		return err
	}
	say("starting a private chain …")
	if p.devnode, err = devnode.Start(ctx, cfg.Devnode, "--block-time", blockTime); err != nil {
		return err
	}
	if p.payer, err = newPayer(p.dir, p.devnode, cfg.Lease); err != nil {
		return err
	}
	p.account, err = pgaccount.Open(ctx, p.url)
	return err
}

func (p *place) socket(number int) string { return filepath.Join(p.dir, fmt.Sprintf("%d.api", number)) }

// chainGone is closed when the chain ends; without a chain it is nil and never closed.
func (p *place) chainGone() <-chan struct{} {
	if p.devnode == nil {
		return nil
	}
	return p.devnode.Gone()
}

// clear ends the chain and the server and removes the folder.
func (p *place) clear() error {
	var fault error
	if p.account != nil {
		p.account.Close(context.Background())
	}
	if p.devnode != nil {
		p.devnode.Stop()
	}
	if p.server != nil {
		fault = p.server.Stop()
	}
	if fault != nil {
		return fmt.Errorf("clearing up: %w", fault)
	}
	return nil
}

// collect reads the evidence. All nodes must have ended.
func (p *place) collect(ctx context.Context) (r evidence.Record, err error) {
	if r.Ledger, err = pgledger.Read(ctx, p.url); err != nil {
		return r, err
	}
	if r.Outside, err = evidence.ReadActs(evidence.OutsideFile(p.dir)); err != nil {
		return r, err
	}
	if r.Acks, err = evidence.ReadAcks(p.dir); err != nil || p.devnode == nil {
		return r, err
	}
	r.Account = &evidence.Account{}
	if err := p.account.Left(ctx, PayerScope, r.Account); err != nil {
		return r, err
	}
	return r, explorer.Read(ctx, p.devnode.HTTP, p.payer.address, r.Account)
}
