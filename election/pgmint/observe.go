package pgmint

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
)

// Observer reads leaderships for people and dashboards. What it says is about the
// past; nothing may be decided on it (S12). Not safe for concurrent use.
type Observer struct {
	conn *pgx.Conn
	cfg  Config
}

// Observe connects an observer.
func Observe(ctx context.Context, cfg Config) (*Observer, error) {
	conn, err := cfg.observer(ctx)
	if err != nil {
		return nil, err
	}
	return &Observer{conn: conn, cfg: cfg}, nil
}

// observer connects so that it also works through a pooler in transaction mode: it
// only reads, and notifications that do not arrive there are made up for by polling.
func (c Config) observer(ctx context.Context) (*pgx.Conn, error) {
	base := c.pg(" observer")
	base.Unnamed = true
	return pg.Connect(ctx, base)
}

// Close ends the connection.
func (o *Observer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = o.conn.Close(ctx)
}

// Leadership is one scope as the database has it.
type Leadership struct {
	Scope          string     `json:"scope"`
	Epoch          int64      `json:"epoch"`
	Holder         string     `json:"holder"`
	AcquiredAt     time.Time  `json:"acquired_at"`
	HeartbeatAt    *time.Time `json:"heartbeat_at"`
	HeartbeatAgeMS int64      `json:"heartbeat_age_ms"`
	Released       bool       `json:"released"`
	Candidates     []string   `json:"candidates"` // processes alive that campaign for it, the holder among them
	Held           bool       `json:"held"`       // the holder's session is alive and has not given the scope up
	LeaseMS        int64      `json:"lease_ms"`
	Term           string     `json:"term"`
	Takeover       string     `json:"takeover"`
}

// A process is alive as long as its session holds its process key. Each list of scopes is
// taken apart once, and not searched for each scope: one of ten thousand lies outside its
// row, and is long to read. Through a pooler this may run under another search_path than
// our own: what would take any type names its schema.
const leadershipSQL = `
WITH alive AS (
    SELECT DISTINCT (k.classid::bigint << 32) | k.objid::bigint AS process_key FROM pg_locks k
     WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND k.mode = 'ExclusiveLock'
       AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
), campaign AS (
    SELECT l.scope, pg_catalog.array_agg(p.id ORDER BY p.id) AS ids
      FROM conch.process p JOIN alive USING (process_key) CROSS JOIN pg_catalog.unnest(p.scopes) AS s(scope) JOIN conch.leadership l USING (scope)
     WHERE ($1 = '' OR l.scope = $1)
       AND (l.scope <> ALL (p.withdrawn) OR p.process_key = l.process_key AND l.parted_at IS NULL)
     GROUP BY l.scope
)
SELECT l.scope, l.epoch, l.holder, l.acquired_at, h.last_seen,
       coalesce(extract(epoch FROM clock_timestamp() - h.last_seen) OPERATOR(pg_catalog.*) 1000, 0)::bigint,
       l.released,
       coalesce(c.ids, '{}'),
       l.parted_at IS NULL AND EXISTS (SELECT FROM alive a WHERE a.process_key = l.process_key),
       l.lease_ms, l.term::text, l.takeover
  FROM conch.leadership l LEFT JOIN conch.leader_heartbeat h ON h.provider_id = l.scope LEFT JOIN campaign c ON c.scope = l.scope
 WHERE $1 = '' OR l.scope = $1
 ORDER BY l.scope`

// Leaderships reads one scope, or all with an empty name, in scope order.
func (o *Observer) Leaderships(ctx context.Context, scope string) ([]Leadership, error) {
	rows, err := o.conn.Query(ctx, leadershipSQL, scope)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (l Leadership, err error) {
		err = row.Scan(&l.Scope, &l.Epoch, &l.Holder, &l.AcquiredAt, &l.HeartbeatAt, &l.HeartbeatAgeMS,
			&l.Released, &l.Candidates, &l.Held, &l.LeaseMS, &l.Term, &l.Takeover)
		return l, err
	})
}

// Event is one line of the history.
type Event struct {
	ID     int64     `json:"-"`
	At     time.Time `json:"at"`
	Scope  string    `json:"scope"`
	Epoch  int64     `json:"epoch"`
	Holder string    `json:"holder"`
	Event  string    `json:"event"` // acquired, lost, released, drained, transferred, evicted
	Reason string    `json:"reason"`
	Actor  string    `json:"actor"`
}

// History reads the newest events of a scope, or of all, oldest first.
func (o *Observer) History(ctx context.Context, scope string, limit int) ([]Event, error) {
	// Two statements: one for both would walk a long history backwards in search of a
	// scope of which there is little.
	where, args := `ORDER BY id DESC LIMIT $1`, []any{limit}
	if scope != "" {
		where, args = `WHERE scope = $2 `+where, append(args, scope)
	}
	events, err := o.events(ctx, where, args...)
	slices.Reverse(events)
	return events, err
}

func (o *Observer) events(ctx context.Context, where string, args ...any) ([]Event, error) {
	rows, err := o.conn.Query(ctx, `SELECT id, at, scope, epoch, holder, event, reason, actor FROM conch.leadership_history `+where, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Event])
}
