package pgops

import (
	"context"
	"time"
)

// Tally is what all scopes are together.
type Tally struct {
	Led      int   // have a leader that was heard within three leases
	Released int   // were given up, and nobody has taken them since
	Silent   int   // have a leader of which three leases heard nothing
	Epochs   int64 // how many leaderships there ever were
}

// Tally counts the scopes that are not forgotten, by the database's clock; and the epochs of all.
func (o *Observer) Tally(ctx context.Context) (t Tally, err error) {
	ctx, cancel := context.WithTimeout(ctx, tallyPatience)
	defer cancel()
	err = o.conn.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE x.known AND NOT x.released AND NOT x.silent), count(*) FILTER (WHERE x.known AND x.released),
		       count(*) FILTER (WHERE x.known AND NOT x.released AND x.silent), coalesce(sum(x.epoch), 0)::bigint
		  FROM (SELECT l.epoch, l.released, l.forgotten IS DISTINCT FROM l.term AS known,
		               coalesce(h.last_seen, l.acquired_at) < clock_timestamp() - make_interval(secs => l.lease_ms::float8 * 0.003::float8) AS silent
		          FROM conch.leadership l LEFT JOIN conch.leader_heartbeat h ON h.provider_id = l.scope) x`).Scan(&t.Led, &t.Released, &t.Silent, &t.Epochs)
	return t, o.named(ctx, err)
}

// tallyPatience is short, since another tally follows.
const tallyPatience = 5 * time.Second
