// Package pgcrowd counts the processes that say they are somewhere. A place is a name; being there is a shared advisory
// lock of the process's session, so a process that dies is nowhere, no table keeps anything, and no grant is needed.
package pgcrowd

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
)

// Crowd is one process. One goroutine uses it. Close ends its session.
type Crowd struct {
	cfg  pg.Config
	conn *pgx.Conn
	at   map[int64]bool
}

// New returns a Crowd that connects when it is first asked.
func New(cfg pg.Config) *Crowd { return &Crowd{cfg: cfg} }

// Key is the advisory lock of a place: of its name nothing can be read.
func Key(place string) int64 {
	sum := sha256.Sum256([]byte("conch crowd:" + place))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// Meet says where this process is, and returns how many are at each of these places, this one included. Afresh says that
// the session is new: for a while others may have seen this process nowhere. After an error it is not known what they see.
func (c *Crowd) Meet(ctx context.Context, places []string) (crowd map[string]int, afresh bool, err error) {
	if c.conn == nil || c.conn.IsClosed() {
		if c.conn, err = pg.Connect(ctx, c.cfg); err != nil {
			c.conn = nil
			return nil, false, err
		}
		c.at, afresh = map[int64]bool{}, true
	}
	if crowd, err = c.meet(ctx, places); err != nil {
		c.Close(ctx)
		return nil, false, err
	}
	return crowd, afresh, nil
}

func (c *Crowd) meet(ctx context.Context, places []string) (map[string]int, error) {
	names := map[int64]string{}
	for _, place := range places {
		names[Key(place)] = place
	}
	for key := range c.at {
		if names[key] == "" {
			if _, err := c.conn.Exec(ctx, `SELECT pg_advisory_unlock_shared($1)`, key); err != nil {
				return nil, err
			}
			delete(c.at, key)
		}
	}
	for key := range names {
		if !c.at[key] {
			if _, err := c.conn.Exec(ctx, `SELECT pg_advisory_lock_shared($1)`, key); err != nil {
				return nil, err
			}
			c.at[key] = true
		}
	}
	rows, _ := c.conn.Query(ctx, `
		SELECT (k.classid::bigint << 32) | k.objid::bigint AS key, count(*)::int
		  FROM pg_locks k
		 WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND k.mode = 'ShareLock'
		   AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
		   AND (k.classid::bigint << 32) | k.objid::bigint = ANY ($1)
		 GROUP BY 1`, slices.Collect(maps.Keys(names))) // they have its error
	crowd := map[string]int{}
	var key int64
	var n int
	_, err := pgx.ForEachRow(rows, []any{&key, &n}, func() error {
		crowd[names[key]] = n
		return nil
	})
	return crowd, err
}

// Close ends the session, and so this process is nowhere.
func (c *Crowd) Close(ctx context.Context) {
	if c.conn != nil {
		_ = c.conn.Close(context.WithoutCancel(ctx))
		c.conn = nil
	}
}
