package pgstore

import (
	"context"
	"errors"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/ledger"
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

// Over returns the store of the same start, which goes on over other connections.
func (s *Store) Over(d *Database) *Store {
	return &Store{db: d, token: s.token, start: s.start, turn: make(chan struct{}, 1), write: s.write}
}

// Pack and Unpack write and read what is packed in one column.
func Pack(needs []grants.Need, all []ledger.Endorsement) (a, b []byte) {
	return packNeeds(needs), packEndorsements(all)
}

func Unpack(a, b []byte) (needs []grants.Need, all []ledger.Endorsement, err error) {
	needs, err = unpackNeeds(a)
	all, other := unpackEndorsements(b)
	return needs, all, errors.Join(err, other)
}
