package pgops

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
)

// Observer reads the state and the history of scopes for people and dashboards. It shows the past,
// so base no decision on it (S12). It is not safe for concurrent use.
type Observer struct {
	conn *pgx.Conn
	cfg  pgmint.Config
}

// Observe connects an observer. It works through a pooler in transaction mode too: it only
// reads, and polls for the notifications that do not arrive there.
func Observe(ctx context.Context, cfg pgmint.Config) (*Observer, error) {
	o := &Observer{cfg: cfg}
	if err := o.connect(ctx); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *Observer) connect(ctx context.Context) error {
	base := o.cfg.Connection(" observer")
	base.Unnamed = true // another client of the pooler may have prepared the name
	conn, err := pg.Connect(ctx, base)
	if err == nil {
		o.conn = conn
	}
	return err
}

// Close ends the connection.
func (o *Observer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = o.conn.Close(ctx)
}

// ScopeStatus is the state of one scope in the database.
type ScopeStatus struct {
	Scope          string     `json:"scope"`
	Epoch          int64      `json:"epoch"`
	Holder         string     `json:"holder"`
	AcquiredAt     time.Time  `json:"acquired_at"`
	HeartbeatAt    *time.Time `json:"heartbeat_at"`
	HeartbeatAgeMS int64      `json:"heartbeat_age_ms"`
	Released       bool       `json:"released"`
	Candidates     []string   `json:"candidates"` // live processes that campaign for it, the holder included
	Held           bool       `json:"held"`       // the holder's session is alive and has not given the scope up
	// Holding is whether the holder waits until no predecessor can act, by the database's clock. Only its own gate knows.
	Holding  bool   `json:"holding,omitempty"`
	LeaseMS  int64  `json:"lease_ms"`
	Term     string `json:"term"`
	Takeover string `json:"takeover"`
	// Obstacle says what keeps candidates from leading a scope without a leader, and what would
	// end it. It is empty if no obstacle is seen.
	Obstacle string `json:"obstacle,omitempty"`
	// Failures counts how often its role failed within the last ten minutes, on any process.
	Failures      int64      `json:"failures"`
	LastFailure   string     `json:"last_failure,omitempty"`
	LastFailureAt *time.Time `json:"last_failure_at,omitempty"`

	lockKey int64
}

// A process is alive while its session holds its process key. Each list of scopes is unnested once, not
// searched for each scope, since a long list is stored outside its row and slow to read. Through a
// pooler this may run with another search_path, so functions that accept any type are qualified.
const scopesSQL = aliveSQL + `, campaign AS (
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
       l.parted_at IS NULL AND EXISTS (SELECT FROM alive a WHERE a.process_key = l.process_key), ` + holdingSQL + `,
       l.lease_ms, l.term::text, l.takeover, l.lock_key, coalesce(f.failures, 0), coalesce(f.reason, ''), f.at
  FROM conch.leadership l LEFT JOIN conch.leader_heartbeat h ON h.provider_id = l.scope AND isfinite(h.last_seen) LEFT JOIN campaign c ON c.scope = l.scope
       LEFT JOIN (SELECT h.scope, count(*) AS failures, max(h.at) AS at, (pg_catalog.array_agg(h.reason ORDER BY h.id DESC))[1] AS reason
                    FROM conch.leadership_history h
                   WHERE h.event = 'failed' AND h.at > clock_timestamp() - interval '10 minutes' AND isfinite(h.at) GROUP BY h.scope) f ON f.scope = l.scope
 ` + shownSQL

const aliveSQL = `
WITH alive AS (
    SELECT DISTINCT (k.classid::bigint << 32) | k.objid::bigint AS process_key FROM pg_locks k
     WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND k.mode = 'ExclusiveLock'
       AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
)`

// holdingSQL is whether a term waits for its predecessors. Both bounds: a clock set back by an hour must not make it seem to wait for one.
const holdingSQL = `l.parted_at IS NULL AND clock_timestamp() >= l.acquired_at
       AND clock_timestamp() < l.acquired_at + (l.waits_ms OPERATOR(pg_catalog.*) interval '1 millisecond')`

const shownSQL = ` WHERE CASE WHEN $1 = '' THEN l.forgotten IS DISTINCT FROM l.term ELSE l.scope = $1 END
 ORDER BY l.scope`

// bareSQL reads what conch.leadership alone tells.
const bareSQL = aliveSQL + `
SELECT l.scope, l.epoch, l.holder, l.acquired_at, NULL::timestamptz, 0::bigint, l.released, '{}'::text[],
       l.parted_at IS NULL AND EXISTS (SELECT FROM alive a WHERE a.process_key = l.process_key), ` + holdingSQL + `,
       l.lease_ms, l.term::text, l.takeover, l.lock_key, 0::bigint, '', NULL::timestamptz
  FROM conch.leadership l ` + shownSQL

// lookPatience limits one look behind a pooler, where a connection has no limits of its own.
const lookPatience = 40 * time.Second

// Scopes reads one scope or, if scope is empty, all that are not forgotten, in order. While a table is
// locked it returns a *[LockedError], with what conch.leadership alone tells, if that can be read.
func (o *Observer) Scopes(ctx context.Context, scope string) ([]ScopeStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	all, err := o.scopes(ctx, scopesSQL, scope)
	if err == nil {
		err = o.explain(ctx, all)
	}
	if err = o.named(ctx, err); err != nil && all == nil && errors.As(err, new(*LockedError)) {
		all, _ = o.scopes(ctx, bareSQL, scope)
	}
	return all, err
}

// LockedError says what locked tables of conch while something waited for them, and how to end that.
type LockedError = pg.LockedError

// named returns a *LockedError for a look that took too long while tables were locked.
func (o *Observer) named(ctx context.Context, err error) error {
	return pg.Locked(ctx, o.cfg.Connection(" observer"), err)
}

func (o *Observer) scopes(ctx context.Context, sql, scope string) ([]ScopeStatus, error) {
	rows, _ := o.conn.Query(ctx, sql, scope) // they have its error
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (s ScopeStatus, err error) {
		err = row.Scan(&s.Scope, &s.Epoch, &s.Holder, &s.AcquiredAt, &s.HeartbeatAt, &s.HeartbeatAgeMS,
			&s.Released, &s.Candidates, &s.Held, &s.Holding, &s.LeaseMS, &s.Term, &s.Takeover, &s.lockKey, &s.Failures, &s.LastFailure, &s.LastFailureAt)
		return s, err
	})
}

// mostExplained limits for how many scopes an observer reads pg_locks.
const mostExplained = 50

// explain looks for the obstacle where nobody leads, or a leader sends no heartbeats.
func (o *Observer) explain(ctx context.Context, all []ScopeStatus) error {
	left := mostExplained
	for i := range all {
		s := &all[i]
		if len(s.Candidates) == 0 || s.Held && s.HeartbeatAgeMS <= s.LeaseMS || left == 0 { // nobody wants it, or it is led
			continue
		}
		left--
		if err := o.conn.QueryRow(ctx, `SELECT coalesce(conch.obstacle($1, $2), '')`, s.Scope, s.lockKey).Scan(&s.Obstacle); err != nil {
			return err
		}
	}
	return nil
}

// Event is one line of the history.
type Event struct {
	ID     int64     `json:"-"`
	At     time.Time `json:"at"`
	Scope  string    `json:"scope"`
	Epoch  int64     `json:"epoch"`
	Holder string    `json:"holder"`
	Event  string    `json:"event"` // acquired, lost, failed, released, drained, transferred, evicted, blocked
	Reason string    `json:"reason"`
	Actor  string    `json:"actor"`
	// GapMS is set when a term begins: how long nobody led before it, since the last term was
	// given up or, if it was lost, since its last heartbeat. The first term has none.
	GapMS *int64 `json:"gap_ms,omitempty"`
}

// The gap of a term counts from the first end after the start of the term before it: an end
// may be recorded twice, for example when acts end after the drain timeout. A role that may write
// a time without end, which Go has none for, hides nothing else by it.
const eventsSQL = `
SELECT h.id, h.at, h.scope, h.epoch, h.holder, h.event, h.reason, h.actor,
       CASE WHEN h.event = 'acquired' THEN
           (SELECT (extract(epoch FROM h.at - min(CASE WHEN isfinite(e.beat_at) THEN e.beat_at ELSE e.at END)) OPERATOR(pg_catalog.*) 1000)::bigint FROM conch.leadership_history e
             WHERE e.scope = h.scope AND e.id < h.id AND isfinite(e.at) AND e.event IN ('lost', 'failed', 'released', 'drained', 'transferred')
               AND e.id > coalesce((SELECT max(a.id) FROM conch.leadership_history a
                                     WHERE a.scope = h.scope AND a.id < h.id AND a.event = 'acquired'), 0)) END
  FROM (SELECT * FROM conch.leadership_history WHERE isfinite(at)) h `

// History reads the newest events, at most limit, of one scope or, if scope is empty, of
// all. The oldest comes first.
func (o *Observer) History(ctx context.Context, scope string, limit int) ([]Event, error) {
	return o.Window(ctx, Window{Scope: scope, Most: limit})
}

func (o *Observer) events(ctx context.Context, where string, args ...any) ([]Event, error) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	rows, _ := o.conn.Query(ctx, eventsSQL+where, args...) // they have its error
	events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Event])
	return events, o.named(ctx, err)
}
