package pgstore

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgpool"
	"github.com/conchhq/conch/pending/internal/rules"
)

// Database is a connection pool for the stores of any number of chains. It is safe for concurrent use.
type Database struct {
	cfg   Connection
	pools *pgpool.Pools // leaders write with it, and so does each process that accepts
	lists chan struct{} // semaphore of the lists that are read at once
}

const (
	// mostReaders is the number of connections for looking transactions up.
	mostReaders = 3
	// mostLists limits the lists, which can take long: one connection is left for single intents.
	mostLists = mostReaders - 1
)

// Connection names a database: its URL (empty: the PG* variables), how its server is verified (TLSCAFile, TLSInsecure), and the AppName under
// which pg_stat_activity shows the connections. Connection of a pgmint.Config returns one too.
type Connection = pg.Config

// Open returns a Database of up to most connections and a few for lookups, and does not connect yet.
func Open(ctx context.Context, at Connection, most int) (*Database, error) {
	pools, err := pgpool.Open(ctx, at, most, min(most, mostReaders))
	if err != nil {
		return nil, err
	}
	return &Database{cfg: at, pools: pools, lists: make(chan struct{}, mostLists)}, nil
}

// Close closes the connections after the statements under way have ended.
func (d *Database) Close() { d.pools.Close() }

// Store returns the store of one chain. chainID is the chain's [chain.Description.ID], and creator
// the name of this node, stored with the intents that it accepts.
func (d *Database) Store(chainID, creator string) *Store {
	return &Store{db: d, cfg: config{Chain: chainID, Creator: creator}, pool: d.pools.Writers}
}

// Check returns an error that says why if this program cannot work with the tables.
func (d *Database) Check(ctx context.Context) error { return Tables.Check(ctx, d.pools.Writers) }

// Heard is what Listen calls, one at a time. None may block.
type Heard struct {
	Waits func(id string, account chain.Account) // an account has something to do
	Told  func()                                 // there are events
	// Missed follows each connecting, also again: notifications may be lost.
	Missed func()
}

// Listen reports what is notified, on its own connection, until ctx ends.
func (d *Database) Listen(ctx context.Context, heard Heard) error {
	return pg.Listen(ctx, d.cfg, []string{"pending_intent", "pending_event"}, pg.ListenFuncs{
		Up: func() { heard.Missed(); heard.Told() },
		Notify: func(channel, payload string) {
			if channel == "pending_event" {
				heard.Told()
				return
			}
			var keys struct{ Chain, Account string }
			if json.Unmarshal([]byte(payload), &keys) != nil {
				return // not ours: any role may notify on any channel
			}
			if raw, err := chain.ParseHex(keys.Account); err == nil {
				heard.Waits(keys.Chain, chain.Account(raw))
			}
		},
	})
}

// Account names one account on one chain.
type Account struct {
	Chain   string // its ID
	Account chain.Account
}

// Waiting returns those of the accounts that have an intent without a slot, or one to be cancelled. It makes up for
// lost notifications: one statement serves all accounts of a process.
func (d *Database) Waiting(ctx context.Context, accounts []Account) (waiting []Account, err error) {
	ids, names := make([]string, len(accounts)), make([][]byte, len(accounts))
	for i, a := range accounts {
		ids[i], names[i] = a.Chain, []byte(a.Account)
	}
	rows, _ := d.pools.Writers.Query(ctx, `
		SELECT a.chain, a.account FROM unnest($1::text[], $2::bytea[]) AS a(chain, account)
		 CROSS JOIN LATERAL (SELECT FROM conch.intents WHERE chain = a.chain AND account = a.account AND waits
		               UNION ALL SELECT FROM conch.intents WHERE chain = a.chain AND account = a.account AND cancelling
		               UNION ALL SELECT FROM conch.intents WHERE chain = a.chain AND account = a.account AND put_off AND held_until <= statement_timestamp()
		               UNION ALL SELECT FROM conch.intents WHERE chain = a.chain AND account = a.account AND put_off AND held_until > statement_timestamp() + $3::interval
		               LIMIT 1) w`, ids, names, rules.LongestPause) // they have its error
	var id string
	var name []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &name}, func() error {
		waiting = append(waiting, Account{id, chain.Account(name)})
		return nil
	})
	return waiting, err
}

// Claims calls told with the scope of each account.
func (d *Database) Claims(ctx context.Context, told func(id string, account chain.Account, scope string)) error {
	rows, _ := d.pools.Writers.Query(ctx, `SELECT chain, account, scope FROM conch.pending_accounts`) // they have its error
	var id, scope string
	var raw []byte
	_, err := pgx.ForEachRow(rows, []any{&id, &raw, &scope}, func() error {
		told(id, chain.Account(raw), scope)
		return nil
	})
	return err
}
