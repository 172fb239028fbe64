package pgtest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// Lonely is a server whose commits can be made to wait for a standby that is not there, and sessions that end such waits: what is
// committed then is on this server alone, and a failover takes it back.
type Lonely struct {
	Config pg.Config
	Admin  *pgx.Conn       // its own commits do not wait
	Ctx    context.Context // of all statements: one that nothing cancels would wait for ever

	t      testing.TB
	giveUp context.CancelFunc
	ended  atomic.Int64
}

// NewLonely starts the server, prepares its database, and has conch's commits wait although the database is set otherwise.
func NewLonely(t testing.TB, prepare func(context.Context, *pgx.Conn) error) *Lonely {
	t.Helper()
	server := Own(t, postmaster.Config{})
	l := &Lonely{t: t, Config: pg.Config{URL: server.URL("postgres")}}
	l.Ctx, l.giveUp = context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(l.giveUp)
	l.Admin = Connect(t, l.Config)
	l.run(`SET synchronous_commit = local`)
	l.run(`ALTER DATABASE postgres SET synchronous_commit = local`)
	if err := prepare(l.Ctx, l.Admin); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *Lonely) run(sql string) {
	l.t.Helper()
	if _, err := l.Admin.Exec(l.Ctx, sql); err != nil {
		l.t.Fatal(err)
	}
}

// Waits makes commits wait for a standby, or for none if its name is empty. EndsWaits must have been called.
func (l *Lonely) Waits(standby string) {
	l.t.Helper()
	l.run(`ALTER SYSTEM SET synchronous_standby_names = '` + standby + `'`)
	l.run(`SELECT pg_reload_conf()`)
	probe, err := pg.Connect(l.Ctx, l.Config)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = probe.Close(context.WithoutCancel(l.Ctx)) }()
	if _, err := probe.Exec(l.Ctx, `SET synchronous_commit = on`); err != nil {
		l.t.Fatal(err)
	}
	// The checkpointer sees to it, at a time after the setting can be seen.
	Eventually(l.t, patience, "commits wait for the standby "+standby, func() bool {
		err := pg.Confirmed(probe, func() error {
			_, err := probe.Exec(l.Ctx, `SELECT pg_logical_emit_message(true, 'test', '')`)
			return err
		})
		return (err != nil) == (standby != "")
	})
}

// EndsWaits has the server stop every wait for a standby, until the test ends. It signals each transaction once: the wait is
// visible a moment longer, and a second signal would hit the next statement. The view reads the transaction before the wait: one
// that has just begun shows no transaction yet, and is met next time.
func (l *Lonely) EndsWaits() {
	l.t.Helper()
	conn := Connect(l.t, l.Config)
	ctx, stop := context.WithCancel(l.Ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		ended := []string{} // transactions that were signalled
		for {
			var more []string
			err := conn.QueryRow(ctx, `SELECT coalesce(array_agg(backend_xid::text) FILTER (WHERE pg_cancel_backend(pid)), '{}')
				FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_xid IS NOT NULL AND backend_xid::text <> ALL ($1::text[])`, ended).Scan(&more)
			if err != nil {
				if ctx.Err() == nil {
					l.t.Errorf("waits for the standby are not ended any more: %v", err)
					l.giveUp()
				}
				return
			}
			ended = append(ended, more...)
			l.ended.Add(int64(len(more)))
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	l.t.Cleanup(func() { stop(); Within(l.t, patience, "waits are not ended any more", func() { <-done }) })
}

// Ended returns how many waits were ended.
func (l *Lonely) Ended() int64 { return l.ended.Load() }
