package pgmint

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
)

// Conn is a session's own connection.
func Conn(s election.Session) *pgx.Conn { return s.(*session).pg.Conn() }

// ObserverConn is an observer's.
func ObserverConn(o *Observer) *pgx.Conn { return o.conn }

// UnlockAll frees every lock of a session, which lives on.
func UnlockAll(ctx context.Context, s election.Session) error {
	_, err := Conn(s).Exec(ctx, `SELECT pg_advisory_unlock_all()`)
	return err
}

// Disown answers orders as an obeyer does that cannot know whether it has taken them.
func Disown(ctx context.Context, cfg Config, ids ...int64) bool {
	o := obeyer{cfg: cfg, unsure: ids}
	defer o.close()
	return o.connect(ctx) && o.disown(ctx) && len(o.unsure) == 0
}

// LeadershipSQL is what Leaderships asks.
const LeadershipSQL = leadershipSQL
