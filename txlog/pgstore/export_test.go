package pgstore

import (
	"context"
	"errors"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// OpenWide is like Open, with connections that keep the search_path they find, as behind a pooler.
func OpenWide(ctx context.Context, cfg pg.Config, most int) (*Database, error) {
	d, err := Open(ctx, cfg, most)
	if err == nil {
		err = pgtest.Widen(ctx, d.pools)
	}
	return d, err
}

// Flush makes the server publish the statistics of one connection of each pool.
func (d *Database) Flush(ctx context.Context) error {
	const flush = `SELECT pg_stat_force_next_flush()`
	_, err := d.pools.Writers.Exec(ctx, flush)
	_, other := d.pools.Readers.Exec(ctx, flush)
	return errors.Join(err, other)
}

// Tables are those of a log.
var Tables = tables

// What the tests of the authority use.
type (
	Authority = dbAuthority
	Settings  = settings
)

// Authority returns the authority of a node.
func (d *Database) Authority(c Settings) (*Authority, error) { return d.authority(c) }

// Waiting takes the inputs that wait, and returns how many there were.
func (a *Authority) Waiting() int { return len(a.inbox.Take()) }
