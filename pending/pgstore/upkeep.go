package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
)

// Trim moves finished intents of that age (by the database's clock) to the archive, as [Store.Archive] does: up to most of the account that comes next after
// one, whether this process has it or not. It returns how many it has moved, and the account to go on after, since it may have more itself; nil: there is none left. The token,
// of whichever scope, fences it. While another session holds a lock on the table it fails.
func (d *Database) Trim(ctx context.Context, t fence.Token, age time.Duration, most int, after *Account) (moved int, next *Account, err error) {
	from := Account{}
	if after != nil {
		from = *after
	}
	var found Account
	var batch pgx.Batch
	batch.Queue(pg.Durable)
	batch.Queue(`
		SELECT a.chain, a.account, conch.pending_archive(a.chain, a.account, $3, $4)
		  FROM (SELECT chain, account FROM conch.pending_accounts WHERE chain > $1 OR chain = $1 AND account > $2 ORDER BY chain, account LIMIT 1) a`,
		from.Chain, []byte(from.Account), age, most).QueryRow(func(row pgx.Row) error {
		var account []byte
		err := row.Scan(&found.Chain, &account, &moved)
		found.Account = chain.Account(account)
		if next = &found; errors.Is(err, pgx.ErrNoRows) {
			next, err = nil, nil
		}
		return err
	})
	pgfence.Queue(&batch, t)
	if err := translate(d.pools.Commit(ctx, &batch)); err != nil {
		return 0, nil, err
	}
	if moved >= most {
		next = &from // there may be more of the same account
	}
	return moved, next, nil
}

// Backlog is how many intents of a chain have no slot yet.
type Backlog struct {
	Chain  string
	N      int
	Oldest time.Duration // age of the oldest of them
}

// Backlogs counts the intents of all chains that wait for a slot, those that are put off too.
func (d *Database) Backlogs(ctx context.Context) ([]Backlog, error) {
	rows, _ := d.pools.Readers.Query(ctx, `
		SELECT chain, count(*), extract(epoch FROM clock_timestamp() - min(created_at))::float8 FROM (
		    SELECT chain, created_at FROM conch.intents WHERE waits UNION ALL SELECT chain, created_at FROM conch.intents WHERE put_off) w GROUP BY chain ORDER BY chain`) // they have its error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (b Backlog, err error) {
		var seconds float64
		err = row.Scan(&b.Chain, &b.N, &seconds)
		b.Oldest = time.Duration(seconds * float64(time.Second))
		return b, err
	})
}
