package pgstore

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/migrate"
)

// Database is a pool of connections, from which stores for any number of chains are
// made. Safe for concurrent use.
type Database struct {
	cfg     pg.Config
	pool    *pgxpool.Pool
	readers *pgxpool.Pool // for whoever looks transactions up: neither a leader nor who accepts waits for those
	lists   chan struct{} // has room for as many lists as may be read at once
	direct  atomic.Bool   // there is no pool behind the pool, as the last connection has shown
}

const (
	// mostReaders are the connections for looking transactions up.
	mostReaders = 3
	// mostLists are those that lists may have, which can take long: one intent alone is
	// found by its key.
	mostLists = mostReaders - 1
)

// Open makes a pool of that many connections at most, and a few more on which callers
// look transactions up. It does not connect: a database that is away is found again by
// whoever uses it.
func Open(ctx context.Context, cfg pg.Config, most int) (*Database, error) {
	cfg.Unnamed = true // there may be a pool behind the pool, unless a connection shows that there is none
	d := &Database{cfg: cfg, lists: make(chan struct{}, mostLists)}
	if err := d.open(ctx, most, d.look); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Database) open(ctx context.Context, most int, look func(context.Context, *pgx.Conn) error) error {
	parsed, err := d.cfg.Parse()
	if err != nil {
		return err
	}
	settings, err := pgxpool.ParseConfig("")
	if err != nil {
		return err
	}
	pg.Heed(parsed)
	settings.ConnConfig, settings.MaxConns, settings.MinConns = parsed, int32(most), 0
	settings.MaxConnIdleTime = time.Minute
	settings.BeforeConnect, settings.AfterConnect, settings.PrepareConn = d.name, look, d.fits
	few := settings.Copy()
	few.MaxConns = min(few.MaxConns, mostReaders)
	if d.pool, err = pgxpool.NewWithConfig(ctx, settings); err != nil {
		return err
	}
	if d.readers, err = pgxpool.NewWithConfig(ctx, few); err != nil {
		d.pool.Close()
	}
	return err
}

// name has a new connection prepare its statements under names, once it is known that
// its backend will stay its own: a write of a dozen statements takes a third of the time
// when they need no planning.
func (d *Database) name(_ context.Context, cfg *pgx.ConnConfig) error {
	if d.direct.Load() {
		cfg.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	}
	return nil
}

// look finds out whether somebody stands between, and if not sets the search_path.
func (d *Database) look(ctx context.Context, conn *pgx.Conn) error {
	direct, err := pg.Narrow(ctx, conn)
	if err == nil {
		d.direct.Store(direct)
	}
	return err
}

// fits tells whether a connection was opened in the way that is known to fit by now.
func (d *Database) fits(_ context.Context, conn *pgx.Conn) (bool, error) {
	named := conn.Config().DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
	return named == d.direct.Load(), nil
}

// Close waits for what is under way and closes the connections.
func (d *Database) Close() {
	d.pool.Close()
	d.readers.Close()
}

// Store keeps the transactions of one chain, whose ID is as in chain.Description.ID.
// Creator is whoever accepts intents here. It writes under the fence.
func (d *Database) Store(chainID, creator string) *Store {
	return &Store{db: d, cfg: config{Chain: chainID, Creator: creator}, pool: d.pool}
}

// Check looks whether the tables are there and known to this program.
func (d *Database) Check(ctx context.Context) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	version, err := migrate.Version(ctx, conn.Conn(), Migrations())
	if err != nil {
		return err
	}
	return checkVersion(version)
}

// Listen tells of accounts that have something to do, on a connection of its own,
// until ctx ends. It connects again for as long as that takes, and calls missed
// whenever it has: what was said meanwhile is lost.
func (d *Database) Listen(ctx context.Context, waits func(id string, account chain.Account), missed func()) error {
	return pg.Listen(ctx, d.cfg, []string{"pending_intent"}, pg.ListenFuncs{
		Up: missed,
		Notify: func(_, payload string) {
			var keys struct{ Chain, Account string }
			if json.Unmarshal([]byte(payload), &keys) != nil {
				return // anybody may notify on any channel
			}
			if raw, err := chain.ParseHex(keys.Account); err == nil {
				waits(keys.Chain, chain.Account(raw))
			}
		},
	})
}

// Claims tells under which scope each account is sent from.
func (d *Database) Claims(ctx context.Context, told func(id string, account chain.Account, scope string)) error {
	rows, err := d.pool.Query(ctx, `SELECT chain, account, scope FROM conch.pending_accounts`)
	if err != nil {
		return err
	}
	var id, scope string
	var raw []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &raw, &scope}, func() error {
		told(id, chain.Account(raw), scope)
		return nil
	})
	return err
}
