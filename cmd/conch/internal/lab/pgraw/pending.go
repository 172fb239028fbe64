package pgraw

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
)

// Commits returns how many writing transactions the server has begun: each takes one
// transaction number, and reading takes none.
func (a *Admin) Commits(ctx context.Context) (n int64, err error) {
	err = a.conn.QueryRow(ctx, `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint`).Scan(&n)
	return n, err
}

// EventCommits returns when the events of final states were committed, by their IDs; none on a server that does not keep such times.
func (a *Admin) EventCommits(ctx context.Context) (map[int64]time.Time, error) {
	commits := map[int64]time.Time{}
	kept, err := a.Setting(ctx, "track_commit_timestamp")
	if err != nil || kept != "on" {
		return commits, err
	}
	rows, _ := a.conn.Query(ctx, `SELECT id, pg_xact_commit_timestamp(xmin) FROM conch.pending_events WHERE kind = 'final'`) // they have its error
	var id int64
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&id, &at}, func() error { commits[id] = at; return nil })
	return commits, err
}

// Processes returns the server's processes, for sessions and in the background.
func (a *Admin) Processes(ctx context.Context) ([]int, error) {
	rows, _ := a.conn.Query(ctx, `SELECT pid FROM pg_stat_activity`) // they have its error
	return pgx.CollectRows(rows, pgx.RowTo[int])
}

// finished inserts intents of a hundred accounts with their transactions, all final.
var finished = []string{
	`ALTER TABLE conch.intents DISABLE TRIGGER USER`,
	`ALTER TABLE conch.pending_transactions DISABLE TRIGGER USER`,
	`INSERT INTO conch.intents (id, chain, account, idempotency_key, to_account, value, data, gas, creator, nonce, fate)
	 SELECT (lpad(to_hex(1700000000000 + g), 12, '0') || '7' || substr(md5(g::text), 1, 19))::uuid, 'evm:1337', decode(lpad(to_hex(g %% 100), 40, '0'), 'hex'), 'key ' || g, '', 0, '', 21000, 'bench', g / 100, 'done'
	   FROM generate_series(1, %d) g`,
	`INSERT INTO conch.pending_transactions (chain, account, nonce, intent, hash, watched, state, block_hash, block_number, final, since_block, creator)
	 SELECT 'evm:1337', decode(lpad(to_hex(g %% 100), 40, '0'), 'hex'), g / 100, (lpad(to_hex(1700000000000 + g), 12, '0') || '7' || substr(md5(g::text), 1, 19))::uuid, sha256(g::text::bytea), false, 'finalized',
	        sha256('block'), 1, true, 1, 'bench'
	   FROM generate_series(1, %d) g`,
	`INSERT INTO conch.pending_attempts (chain, account, nonce, n, hash, signed, fee_max, fee_tip, gas, filler)
	 SELECT 'evm:1337', decode(lpad(to_hex(g %% 100), 40, '0'), 'hex'), g / 100, 1, sha256(g::text::bytea), sha256(g::text::bytea) || sha256('x') || sha256('y'), 1, 1, 21000, false
	   FROM generate_series(1, %d) g`,
	`ALTER TABLE conch.intents ENABLE TRIGGER USER`,
	`ALTER TABLE conch.pending_transactions ENABLE TRIGGER USER`,
}

// Finish inserts many finished transactions of other accounts.
func (a *Admin) Finish(ctx context.Context, many int) error {
	tx, err := a.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // does nothing after a commit
	for i, sql := range finished {
		if i > 1 && i < len(finished)-2 {
			sql = fmt.Sprintf(sql, many)
		}
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("writing a long history: %w", err)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	if _, err = a.conn.Exec(ctx, `VACUUM (ANALYZE) conch.intents, conch.pending_transactions, conch.pending_attempts`); err != nil {
		return err
	}
	// Nobody finishes a million at once, so writing them out is not part of what follows.
	_, err = a.conn.Exec(ctx, `CHECKPOINT`)
	if pg.Code(err) == "42501" { // on another owner's server its next checkpoint writes them out
		return nil
	}
	return err
}

// One writes one row in a transaction and returns how long that took.
func (l *Load) One(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	err := l.write(ctx, l.sessions[0], 0, Style{Pipelined: true})
	return time.Since(began), err
}
