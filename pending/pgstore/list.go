package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/pending"
)

// List returns the newest intents that the filter selects, newest first. One with a hash, or with an account and a key or a nonce, is
// found by an index; any other list may read all rows, so only two lists are read at once.
func (s *Store) List(ctx context.Context, f pending.Filter) ([]pending.Record, error) {
	select {
	case s.db.lists <- struct{}{}:
		defer func() { <-s.db.lists }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	sql, args := s.selects(f)
	rows, _ := s.db.pools.Readers.Query(ctx, sql, args...) // they have its error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (pending.Record, error) {
		var bytes int64
		return scanRecordWith(row, &bytes)
	})
}

// selects returns the query for a filter. It has a condition for what the filter names, and for nothing else, so that the planner
// can tell what an index is good for.
func (s *Store) selects(f pending.Filter) (sql string, args []any) {
	args = []any{s.cfg.Chain, f.Most, f.Bytes}
	where := `i.chain = $1`
	add := func(set bool, condition string, arg any) {
		if set {
			args = append(args, arg)
			where += fmt.Sprintf(` AND `+condition, len(args))
		}
	}
	add(f.Account != "", `i.account = $%[1]d`, []byte(f.Account))
	add(f.Token != "", `i.token = $%[1]d AND i.token <> ''`, f.Token)
	add(f.State != "", `t.state = $%[1]d`, f.State)
	add(f.Standing != "", `$%[1]d = CASE WHEN i.fate = 'open' AND i.nonce IS NULL THEN 'queued' ELSE i.fate END`, f.Standing)
	add(f.Key != "", `i.space = '' AND i.idempotency_key = $%[1]d`, f.Key)
	add(f.To != "", `i.to_account = $%[1]d`, []byte(f.To))
	add(!f.Since.IsZero(), `i.created_at >= $%[1]d`, f.Since)
	add(!f.Until.IsZero(), `i.created_at < $%[1]d`, f.Until)
	add(f.Below > 0, `i.seq < $%[1]d AND i.seq + 0 < $%[1]d`, int64(f.Below))
	add(f.Hash != "", `i.id = ANY (ARRAY(
		SELECT s.intent FROM conch.pending_attempts a JOIN conch.pending_transactions s USING (chain, account, nonce) WHERE a.chain = $1 AND a.hash = $%[1]d
		 UNION ALL
		SELECT s.intent FROM conch.archived_attempts a JOIN conch.archived_transactions s USING (chain, account, nonce) WHERE a.chain = $1 AND a.hash = $%[1]d))`,
		[]byte(f.Hash))
	if f.Index != nil {
		of := ``
		if f.Account != "" {
			of = ` AND s.account = $4`
		}
		add(true, `i.nonce = $%[1]d AND i.id = ANY (ARRAY(
		SELECT s.intent FROM conch.pending_transactions s WHERE s.chain = $1 AND s.nonce = $%[1]d`+of+`
		 UNION ALL
		SELECT s.intent FROM conch.archived_transactions s WHERE s.chain = $1 AND s.nonce = $%[1]d`+of+`))`, int64(*f.Index))
	}
	return `SELECT * FROM (
	SELECT r.*, sum(octet_length(r.data)) OVER (ORDER BY r.seq DESC) AS bytes FROM (` + records(where, 2) + `) r) w
	 WHERE $3::bigint = 0 OR w.bytes <= $3 ORDER BY w.seq DESC`, args
}
