package pgops

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/pgmint"
)

// ObserverConn is the connection of an observer.
func ObserverConn(o *Observer) *pgx.Conn { return o.conn }

// ScopesSQL is the statement of Observer.Scopes.
const ScopesSQL = scopesSQL

// Disown closes requests as Obey does when it cannot know whether it took them.
func Disown(ctx context.Context, cfg pgmint.Config, ids ...int64) bool {
	e := executor{cfg: cfg, unsure: ids}
	defer e.close()
	return e.connect(ctx) && e.disown(ctx) && len(e.unsure) == 0
}

// Slowly reads the whole history by the rule in SQL.
func (o *Observer) Slowly(ctx context.Context) ([]Event, error) {
	return o.events(ctx, `ORDER BY id`)
}
