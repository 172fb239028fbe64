package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgpool"
	"github.com/conchhq/conch/txlog"
)

// Database is the connections of a node to the database that has its logs. It is safe for concurrent use.
type Database struct {
	cfg   Connection
	pools *pgpool.Pools
}

// Connection names a database: its URL (empty: the PG* variables), how its server is verified (TLSCAFile, TLSInsecure), and the AppName under
// which pg_stat_activity shows the connections. Connection of a pgmint.Config returns one too.
type Connection = pg.Config

// Open returns a Database with up to most connections that append and as many that read, and does not connect yet. An
// authority needs two: a try that got no answer may take one of them until the server notices.
func Open(ctx context.Context, at Connection, most int) (*Database, error) {
	pools, err := pgpool.Open(ctx, at, max(most, 2), max(most, 2))
	if err != nil {
		return nil, err
	}
	return &Database{cfg: at, pools: pools}, nil
}

// Close closes the connections after the statements under way have ended.
func (d *Database) Close() { d.pools.Close() }

// Check returns an error that says why if this program cannot work with the tables.
func (d *Database) Check(ctx context.Context) error { return tables.Check(ctx, d.pools.Readers) }

// Create makes a log, to which the leader of a scope appends. To make it again changes nothing; the error is ErrScope if it
// is there with another scope. After any other error the log may be there: make it again.
func (d *Database) Create(ctx context.Context, g txlog.Genesis, scope string) error {
	if err := g.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id := g.ID()
	var there string
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	// The update makes the commit wait for the standby also if the log is there, but nobody has confirmed that.
	batch.Queue(`
		INSERT INTO conch.log AS l (id, namespace, genesis, scope, newest) VALUES ($1, $2, $3, $4, $5)
		    ON CONFLICT (id) DO UPDATE SET appends = l.appends RETURNING scope`,
		id[:], []byte(g.Namespace), g.Encode(), scope, int64(g.Start().Index)).QueryRow(func(row pgx.Row) error { return row.Scan(&there) })
	if err := d.pools.Commit(ctx, &batch); err != nil {
		return err
	}
	if there != scope {
		return fmt.Errorf("%w: log %s is that of the scope %q", ErrScope, id.Short(), there)
	}
	return nil
}

// Genesis returns how a log began. The error is ErrScope if there is none of that name.
func (d *Database) Genesis(ctx context.Context, log txlog.ID) (g txlog.Genesis, scope string, err error) {
	var raw []byte
	err = d.pools.Readers.QueryRow(ctx, `SELECT genesis, scope FROM conch.log WHERE id = $1`, log[:]).Scan(&raw, &scope)
	if errors.Is(err, pgx.ErrNoRows) {
		return g, "", missing(log)
	}
	if err != nil {
		return g, "", err
	}
	if g, err = txlog.DecodeGenesis(raw); err == nil && g.ID() != log {
		err = fmt.Errorf("%w: the genesis of log %s", ErrDamaged, log.Short())
	}
	return g, scope, err
}

func missing(log txlog.ID) error { return fmt.Errorf("%w: there is no log %s", ErrScope, log.Short()) }

// Records returns up to 500 committed records from an index on, for those who serve history. The error is ErrDamaged if a
// row is not what was written.
func (d *Database) Records(ctx context.Context, log txlog.ID, from uint64) ([]txlog.Record, error) {
	if from == 0 {
		return nil, fmt.Errorf("%w: entries are counted from 1", txlog.ErrMalformed)
	}
	var answer got
	d.read(ctx, log, read{After: from - 1}, &answer)
	return answer.Next, answer.Err
}

// append stores records, in one round trip and one transaction. It comes to nothing with fence.ErrStale, ErrTaken and
// ErrScope; after any other error nobody knows.
func (d *Database) append(ctx context.Context, log txlog.ID, w write) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	raws, hashes := make([][]byte, len(w.Records)), make([][]byte, len(w.Records))
	for i, r := range w.Records {
		hash := r.Hash()
		raws[i], hashes[i] = r.Raw(), hash[:]
	}
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	// It comes first, although the mint then waits for the whole write: else a node that freezes while it sends one could keep
	// its successor from appending for ever, with the lock on the log's row. As it is, the successor's mint ends it after a lease.
	pgfence.Queue(&batch, w.Token)
	batch.Queue(`SELECT conch.log_append($1, $2, $3, $4, $5, $6)`, log[:], w.Token.Scope, w.Token.Epoch, int64(w.Records[0].Index), raws, hashes)
	return translate(d.pools.Commit(ctx, &batch))
}

// read reads the records after an index, and the newest index after that.
func (d *Database) read(ctx context.Context, log txlog.ID, r read, answer *got) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer.ID = r.ID
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	if r.Fenced {
		pgfence.Queue(&batch, r.Token)
	}
	batch.Queue(`SELECT index, hash, raw FROM conch.log_read($1, $2, $3, $4)`, log[:], int64(r.After), mostRecords+1, int64(mostBytes)).Query(func(rows pgx.Rows) error {
		return collect(rows, r.After, answer)
	})
	queueNewest(&batch, log, int64(r.After), r, &answer.Newest)
	if err := translate(d.commit(ctx, &batch)); err != nil {
		*answer = got{ID: r.ID, Err: err}
	}
}

// collect takes rows over. One that is not what was written is an error.
func collect(rows pgx.Rows, after uint64, answer *got) error {
	var index int64
	var hash, raw []byte
	_, err := pgx.ForEachRow(rows, []any{&index, &hash, &raw}, func() error {
		if uint64(index) == after {
			copy(answer.Before[:], hash)
			return nil
		}
		r, err := txlog.Open(raw)
		if err != nil {
			return fmt.Errorf("%w: entry %d: %w", ErrDamaged, index, err)
		}
		if h := r.Hash(); string(h[:]) != string(hash) || r.Index != uint64(index) {
			return fmt.Errorf("%w: entry %d has another hash", ErrDamaged, index)
		}
		answer.Next = append(answer.Next, r)
		return nil
	})
	return err
}

// find reads the newest index.
func (d *Database) find(ctx context.Context, log txlog.ID, f find) (answer found) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer.ID = f.ID
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	queueNewest(&batch, log, -1, read{}, &answer.Newest)
	answer.Err = translate(d.commit(ctx, &batch))
	return answer
}

// queueNewest asks for the newest index. If it is above the known one, what the transaction has read is confirmed by the
// standby with its commit.
func queueNewest(batch *pgx.Batch, log txlog.ID, known int64, r read, newest *uint64) {
	batch.Queue(`SELECT scope, conch.log_newest(id, $2) FROM conch.log WHERE id = $1`, log[:], known).QueryRow(func(row pgx.Row) error {
		var scope string
		var n int64
		err := row.Scan(&scope, &n)
		if errors.Is(err, pgx.ErrNoRows) {
			return missing(log)
		}
		if err == nil && r.Fenced && r.Token.Scope != scope {
			err = fmt.Errorf("%w: log %s is that of the scope %q", ErrScope, log.Short(), scope)
		}
		*newest = uint64(n)
		return err
	})
}

// commit sends a batch that reads. After a warning of the server what was read may be taken back.
func (d *Database) commit(ctx context.Context, batch *pgx.Batch) error {
	return d.pools.Readers.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		return pg.Confirmed(conn.Conn(), func() error { return conn.SendBatch(ctx, batch).Close() })
	})
}
