//go:build unix

package demo

import (
	"context"
	"fmt"

	"github.com/conchhq/conch/cmd/conch/internal/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/pgledger"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// place is where a demo happens: a database and a folder of evidence.
type place struct {
	dir    string
	server *postmaster.Server
	url    string
}

// prepare starts the server and makes the schema and the ledger. The caller
// clears the place, also after an error.
func (p *place) prepare(ctx context.Context, say func(string, ...any)) (err error) {
	say("starting a private Postgres …")
	if p.server, err = postmaster.Start(ctx, postmaster.Config{}); err != nil {
		return err
	}
	p.url = p.server.URL("postgres")
	// A demo that is killed can not clear up: the next one does, together with the server.
	if p.dir, err = p.server.Folder("demo"); err != nil {
		return err
	}
	say("creating the schema and a ledger …")
	if err := pgmint.Up(ctx, pgmint.Config{URL: p.url}, func(string) {}); err != nil {
		return err
	}
	return pgledger.Create(ctx, p.url)
}

// clear removes everything.
func (p *place) clear() error {
	var fault error
	if p.server != nil {
		fault = p.server.Stop()
	}
	if fault != nil {
		return fmt.Errorf("clearing up: %w", fault)
	}
	return nil
}

// collect reads what was left behind. All nodes must have ended.
func (p *place) collect(ctx context.Context) (r evidence.Record, err error) {
	if r.Ledger, err = pgledger.Read(ctx, p.url); err != nil {
		return r, err
	}
	if r.Outside, err = evidence.ReadActs(evidence.OutsideFile(p.dir)); err != nil {
		return r, err
	}
	r.Acks, err = evidence.ReadAcks(p.dir)
	return r, err
}
