package pgops

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/pgmint"
)

// Process is a session of a process that campaigns, or did within the last day. A process may have several, one for each lease.
type Process struct {
	ID         string
	Alive      bool // its session holds its key
	Tombstoned bool // declared dead
	Scopes     int64
	Leads      int64
	LeaseMS    int64
	Takeover   string
	Locks      string
	Started    time.Time
	LastSeen   time.Time
	SeenAgeMS  int64 // since LastSeen
	pgmint.About
}

const processesSQL = aliveSQL + `
SELECT p.id, a.process_key IS NOT NULL, p.tombstoned, cardinality(p.scopes) - cardinality(p.withdrawn),
       (SELECT count(*) FROM conch.leadership l WHERE l.process_key = p.process_key AND l.parted_at IS NULL), p.lease_ms, p.takeover, p.locks, p.started_at, p.last_seen,
       (extract(epoch FROM clock_timestamp() - p.last_seen) OPERATOR(pg_catalog.*) 1000)::bigint, p.version, p.address, p.settings, p.lines_lost
  FROM conch.process p LEFT JOIN alive a USING (process_key) WHERE isfinite(p.started_at) AND isfinite(p.last_seen)
 ORDER BY a.process_key IS NULL, p.id, p.started_at`

// Processes reads them, the live ones first.
func (o *Observer) Processes(ctx context.Context) ([]Process, error) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	rows, _ := o.conn.Query(ctx, processesSQL) // they have its error
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Process, err error) {
		return p, row.Scan(&p.ID, &p.Alive, &p.Tombstoned, &p.Scopes, &p.Leads, &p.LeaseMS, &p.Takeover, &p.Locks, &p.Started, &p.LastSeen,
			&p.SeenAgeMS, &p.Version, &p.Address, &p.Settings, &p.LinesLost)
	})
	return all, o.named(ctx, err)
}
