package pgops

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Beat is how long ago a holder was heard, in all scopes that it has not given up.
type Beat struct {
	Holder string
	AgeMS  int64 // of its newest heartbeat
	Scopes int64
	Late   int64 // scopes in which it was not heard for a lease
	Holds  int64 // scopes in which it waits until no predecessor can act
}

const beatsSQL = `
SELECT b.holder, pg_catalog.min(b.age), pg_catalog.count(*), pg_catalog.count(*) FILTER (WHERE b.age > b.lease_ms), pg_catalog.count(*) FILTER (WHERE b.holds)
  FROM (SELECT l.holder, l.lease_ms, (extract(epoch FROM clock_timestamp() - h.last_seen) OPERATOR(pg_catalog.*) 1000)::bigint AS age, ` + holdingSQL + ` AS holds
          FROM conch.leadership l JOIN conch.leader_heartbeat h ON h.provider_id = l.scope
         WHERE l.parted_at IS NULL AND l.forgotten IS DISTINCT FROM l.term AND isfinite(h.last_seen)) b
 GROUP BY b.holder ORDER BY b.holder`

// Beats reads the heartbeats of all holders, in order. It costs a tenth of Scopes, and less for many scopes, so it can be asked each second.
func (o *Observer) Beats(ctx context.Context) ([]Beat, error) {
	rows, _ := o.conn.Query(ctx, beatsSQL) // they have its error
	beats, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Beat])
	return beats, o.named(ctx, err)
}
