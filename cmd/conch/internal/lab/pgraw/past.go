package pgraw

import "context"

// Past writes so many changes of hands into the history of some scopes, over the last day, as if a leader of each had died again and again.
func (a *Admin) Past(ctx context.Context, changes, scopes int) error {
	_, err := a.conn.Exec(ctx, `
		INSERT INTO conch.leadership_history (at, scope, epoch, holder, event, reason, beat_at)
		SELECT clock_timestamp() - interval '1 day' * (1 - n / ($1 + 1.0)) + interval '100 milliseconds' * e.kind,
		       'scope-' || lpad((n % $2)::text, 5, '0'), n / $2 + e.kind, 'node-' || (n + e.kind) % 3, CASE e.kind WHEN 0 THEN 'lost' ELSE 'acquired' END,
		       CASE e.kind WHEN 0 THEN 'its session ended without a farewell' ELSE 'takeover' END, NULL
		  FROM generate_series(1, $1::int) n, (VALUES (0), (1)) e(kind) ORDER BY n, e.kind`, changes/2, scopes)
	return err
}
