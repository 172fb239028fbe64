//go:build !one || poller

package candidate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pause"
)

// pollerKey is the advisory lock that pollers try.
const pollerKey = 4711

var _ = enter("poller", poller)

// poller is what many programs implement themselves: it tries a session advisory lock now and then,
// and leads while the session answers. With a lease it tries ten times as often, and the server ends
// a session that is silent for a lease.
func poller(ctx context.Context, cfg Config, o *outside) error {
	for ctx.Err() == nil {
		_ = pollOnce(ctx, cfg, o) // after any failure: connect again
		_ = pause.For(ctx, 200*time.Millisecond)
	}
	return nil
}

func pollOnce(ctx context.Context, cfg Config, o *outside) error {
	least, alive := 200*time.Millisecond, time.Second
	if cfg.Lease > 0 {
		least, alive = 20*time.Millisecond, cfg.Lease/5
	}
	conn, err := pgx.Connect(ctx, cfg.URL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if cfg.Lease > 0 {
		if _, err := conn.Exec(ctx, fmt.Sprintf(`SET idle_session_timeout = %d`, cfg.Lease.Milliseconds())); err != nil {
			return err
		}
	}
	for {
		var got bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, pollerKey).Scan(&got); err != nil {
			return err
		}
		if got {
			break
		}
		_ = pause.For(ctx, least+rand.N(3*least)) //nolint:gosec // a pause is no secret
	}
	leading, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // checks whether the session lives
		defer cancel()
		for leading.Err() == nil {
			_ = pause.For(leading, alive)
			inner, done := context.WithTimeout(leading, alive)
			err := conn.Ping(inner)
			done()
			if err != nil {
				return
			}
		}
	}()
	return o.work(leading)
}
