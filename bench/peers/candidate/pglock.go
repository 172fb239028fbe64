//go:build !one || pglock

package candidate

import (
	"context"
	"database/sql"
	"time"

	"cirello.io/pglock"
	_ "github.com/lib/pq" // pglock insists on this driver

	"github.com/conchhq/conch/internal/pause"
)

var _ = enter("pglock", lockTable)

// lockTable uses cirello.io/pglock: a row with a record version number, which the holder changes at
// each heartbeat. The default is a lease of 20 s with a heartbeat every 5 s. With a lease it uses five
// heartbeats per lease, as conch does.
func lockTable(ctx context.Context, cfg Config, o *outside) error {
	db, err := sql.Open("postgres", cfg.URL)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	options := []pglock.ClientOption{pglock.WithOwner(cfg.ID)}
	if cfg.Lease > 0 {
		options = append(options, pglock.WithLeaseDuration(cfg.Lease), pglock.WithHeartbeatFrequency(cfg.Lease/5))
	}
	client, err := pglock.New(db, options...)
	if err != nil {
		return err
	}
	for ctx.Err() == nil { // another candidate may be creating the table
		if err = client.TryCreateTable(); err == nil {
			break
		}
		_ = pause.For(ctx, 100*time.Millisecond)
	}
	for ctx.Err() == nil {
		_ = client.Do(ctx, "bench", func(ctx context.Context, _ *pglock.Lock) error { return o.work(ctx) })
		_ = pause.For(ctx, 100*time.Millisecond)
	}
	return nil
}
