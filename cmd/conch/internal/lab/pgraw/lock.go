package pgraw

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
)

// Key is the advisory lock of holders and waiters.
const Key int64 = 0x636f6e63682d7261 // "conch-ra": a scope has this key with a probability of 2⁻⁶⁴

// Hold takes the lock, calls held, and keeps the lock until ctx ends. With a lease the server
// ends the session unless it is used in time; like conch's, it is used every fifth of a lease.
func Hold(ctx context.Context, url string, lease time.Duration, held func()) error {
	s, err := pg.Open(ctx, pg.Config{URL: url, AppName: "conch bench holder"}, pg.Settings{Lease: lease})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(context.WithoutCancel(ctx)) }()
	if _, err := s.Conn().Exec(ctx, `SELECT pg_advisory_lock($1)`, Key); err != nil {
		return err
	}
	held()
	if lease == 0 {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(lease / 5)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if _, err := s.Conn().Exec(ctx, `SELECT 1`); err != nil {
				return err
			}
		}
	}
}

// Locker is one session for the lock.
type Locker struct{ conn *pgx.Conn }

// OpenLocker connects.
func OpenLocker(ctx context.Context, url string) (*Locker, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	return &Locker{conn: conn}, nil
}

// Close ends the session and frees its lock.
func (l *Locker) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.conn.Close(ctx)
}

// Lock waits for the lock and returns when it was known to be held.
func (l *Locker) Lock(ctx context.Context) (fence.Instant, error) {
	_, err := l.conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, Key)
	return fence.Boottime(), err
}

// Unlock releases the lock.
func (l *Locker) Unlock(ctx context.Context) error {
	_, err := l.conn.Exec(ctx, `SELECT pg_advisory_unlock($1)`, Key)
	return err
}

// Announce releases the lock and then notifies, so that a woken session finds it free.
func (l *Locker) Announce(ctx context.Context) error {
	if err := l.Unlock(ctx); err != nil {
		return err
	}
	_, err := l.conn.Exec(ctx, `NOTIFY conch_bench`)
	return err
}

// Listen subscribes the session to Announce.
func (l *Locker) Listen(ctx context.Context) error {
	_, err := l.conn.Exec(ctx, `LISTEN conch_bench`)
	return err
}

// LockOnNotice waits for a notification and tries once, and again at the next one if another
// session was faster.
func (l *Locker) LockOnNotice(ctx context.Context) (fence.Instant, error) {
	for {
		if _, err := l.conn.WaitForNotification(ctx); err != nil {
			return 0, err
		}
		var got bool
		if err := l.conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, Key).Scan(&got); err != nil || got {
			return fence.Boottime(), err
		}
	}
}
