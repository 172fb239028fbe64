package pg_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/runtest"
)

func before(t *testing.T, b *pgtest.PgBouncer, db string) (*tcpproxy.Proxy, pg.Config) {
	t.Helper()
	proxy, err := tcpproxy.New(b.SocketPath())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy, pg.Config{URL: pgtest.ThroughURL(proxy.Addr(), db)}
}

// S1: Open refuses a real pool that shares backends after one round trip. The error names
// the pool and the remedy, and no setting stays on the pool's backends.
func TestPgBouncerThatSharesIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode  string
		more  []string
		name  string
		order string
	}{
		{mode: pgtest.TransactionMode, name: "PgBouncer in transaction mode"},
		{mode: pgtest.StatementMode, name: "PgBouncer in statement mode"},
		{mode: pgtest.TransactionMode, name: "PgBouncer 1.", more: []string{"stats_users = conch"}, order: "whose console answers"},
		{mode: pgtest.TransactionMode, name: "PgBouncer in transaction mode", more: []string{"server_round_robin = 1"}, order: "round robin"},
	} {
		t.Run(test.mode+" "+test.order, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			b := db.PgBouncer(t, test.mode, test.more...)
			warm := backend(t, b, db)
			proxy, cfg := before(t, b, db.Name)
			_, err := pg.Open(t.Context(), cfg, pg.Settings{Lease: time.Second})
			refused, ok := errors.AsType[*pg.PoolerError](err)
			if !ok || refused.Mode != test.mode {
				t.Fatalf("Open returned %v, want a *PoolerError in %s mode", err, test.mode)
			}
			for _, words := range []string{test.name, "connect to PostgreSQL directly", "session mode", "two processes can hold one lock"} {
				if said := pg.Sentence(err); !strings.Contains(said, words) {
					t.Errorf("%q does not contain %q", said, words)
				}
			}
			// The session: its start and one query. The probe: its start, one query, and
			// two that tell the modes apart. The console: its start and its name.
			trips := proxy.Trips()
			if len(trips) != 3 || trips[0] != 2 || trips[1] > 4 || trips[2] > 2 {
				t.Errorf("the round trips of the connections are %v, want [2 ≤4 ≤2]", trips)
			}
			results, err := pgtest.Connect(t, cfg).PgConn().Exec(t.Context(), "SHOW idle_session_timeout").ReadAll()
			if err != nil || string(results[0].Rows[0][0]) != "0" {
				t.Errorf("a backend of the pool has idle_session_timeout %v (error %v), want 0", results, err)
			}
			// In statement mode the probe costs the pool a backend.
			if now := backend(t, b, db); test.mode == pgtest.TransactionMode && test.order != "round robin" && now != warm {
				t.Errorf("the pool has the backend %s, want %s as before", now, warm)
			}
		})
	}
}

// backend returns the process id of the backend that the pool gives to its next client.
func backend(t *testing.T, b *pgtest.PgBouncer, db *pgtest.DB) string {
	t.Helper()
	results, err := pgtest.Connect(t, pg.Config{URL: b.URL(db.Name)}).PgConn().Exec(t.Context(), "SELECT pg_backend_pid()").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return string(results[0].Rows[0][0])
}

// S1: Open allows session mode, and Caution warns about it.
func TestPgBouncerInSessionModeIsAllowed(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := open(t, pg.Config{URL: db.PgBouncer(t, pgtest.SessionMode).URL(db.Name)}, pg.Settings{Lease: 3 * time.Second})
	if got := shown(t, s, "idle_session_timeout"); got != "3s" {
		t.Errorf("idle_session_timeout = %s, want 3s", got)
	}
	if err := s.Caution(); err == nil || !strings.Contains(pg.Sentence(err), "session mode") || !strings.Contains(pg.Sentence(err), "DISCARD ALL") {
		t.Errorf("Caution returned %v, want a warning about session mode and DISCARD ALL", err)
	}
	if err := open(t, db.Config(), pg.Settings{}).Caution(); err != nil {
		t.Errorf("Caution of a direct connection returned %v, want nil", err)
	}
}

// Open refuses a full pool in session mode, which it cannot tell from one that shares.
func TestPgBouncerThatIsFullIsRefused(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	cfg := pg.Config{URL: db.PgBouncer(t, pgtest.SessionMode, "default_pool_size = 1", "query_wait_timeout = 1").URL(db.Name)}
	_, err := pg.Open(t.Context(), cfg, pg.Settings{})
	refused, ok := errors.AsType[*pg.PoolerError](err)
	if !ok || refused.Mode != pg.PoolUnknown || refused.Name != "PgBouncer" {
		t.Fatalf("Open returned %v, want a *PoolerError of PgBouncer in unknown mode", err)
	}
}

// lockThrough takes a lock through the pooler after the returned time, and keeps it.
func lockThrough(t *testing.T, b *pgtest.PgBouncer, db *pgtest.DB, lease time.Duration) (*tcpproxy.Proxy, *pg.Session, time.Time) {
	t.Helper()
	proxy, cfg := before(t, b, db.Name)
	holder := open(t, cfg, pg.Settings{Lease: lease})
	start := time.Now()
	if !locked(t, holder.Conn()) {
		t.Fatal("no lock")
	}
	return proxy, holder, start
}

// S1, S4: the server enforces the lease of a silent client behind a pooler in session mode.
func TestPgBouncerKeepsTheLeaseOfASilentHolder(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	const lease = 2 * time.Second
	db := pgtest.New(t)
	other := db.Connect(t)
	proxy, holder, start := lockThrough(t, db.PgBouncer(t, pgtest.SessionMode), db, lease)
	proxy.Blackhole(tcpproxy.Both)
	pgtest.Eventually(t, patience, "the lock is free", func() bool { return locked(t, other) })
	if took := time.Since(start); took < lease {
		t.Errorf("the lock is free after %v, before the lease of %v", took, lease)
	}
	proxy.Heal()
	if err := holder.Conn().Ping(t.Context()); !pg.IsLost(err) {
		t.Errorf("the holder's ping returned %v, want a lost session", err)
	}
}

// When a holder dies, DISCARD ALL frees its lock at once. Another server_reset_query may
// remove the lease and leave the lock, in a backend that waits for its next client.
func TestPgBouncerAndItsResetQuery(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	for reset, frees := range map[string]bool{"DISCARD ALL": true, "RESET ALL": false} {
		t.Run(reset, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			other := db.Connect(t)
			proxy, _, _ := lockThrough(t, db.PgBouncer(t, pgtest.SessionMode, "server_reset_query = "+reset), db, lease)
			proxy.Reset()
			if frees {
				pgtest.Eventually(t, patience, "the lock is free", func() bool { return locked(t, other) })
				return
			}
			pgtest.Eventually(t, patience, "the backend is back in the pool", func() bool {
				var idle bool
				err := other.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database()
					AND query = 'RESET ALL' AND state = 'idle' AND state_change < now() - interval '1.5 seconds'`).Scan(&idle)
				return err == nil && idle
			})
			if locked(t, other) {
				t.Error("the lock is free: the warning about server_reset_query is out of date")
			}
		})
	}
}

// The pool's limits do not end an idle session, since for the pool its connection is in
// use. Only query_timeout does, and the waits of followers count as queries.
func TestPgBouncerAndItsLimits(t *testing.T) {
	t.Parallel()
	for limit, survives := range map[string]bool{
		"server_lifetime = 1": true, "server_idle_timeout = 1": true, "client_idle_timeout = 1": true, "query_timeout = 1": false,
	} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			s := open(t, pg.Config{URL: db.PgBouncer(t, pgtest.SessionMode, limit).URL(db.Name)}, pg.Settings{})
			busy := s.Conn()
			if survives { // let another connection pass the time
				busy = db.Connect(t)
			}
			if _, err := busy.Exec(t.Context(), "SELECT pg_sleep(3)"); (err == nil) != survives {
				t.Fatal(err)
			}
			if err := s.Conn().Ping(t.Context()); (err == nil) != survives {
				t.Errorf("after three seconds the ping returned %v, want the session alive: %v", err, survives)
			}
		})
	}
}

// A listener through a pool in transaction mode receives no notification and no error.
func TestPgBouncerSwallowsNotifications(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	for _, mode := range []string{pgtest.SessionMode, pgtest.TransactionMode} {
		b := db.PgBouncer(t, mode)
		heard := listening(t, pg.Config{URL: b.URL(db.Name)})
		if _, err := db.Connect(t).Exec(t.Context(), "NOTIFY news, 'x'"); err != nil {
			t.Fatal(err)
		}
		limit := patience
		if mode == pgtest.TransactionMode {
			limit = time.Second // expect no notification for this time
		}
		select {
		case <-heard:
			if mode == pgtest.TransactionMode {
				t.Error("transaction mode passes notifications on: the documentation of Listen is out of date")
			}
		case <-time.After(limit):
			if mode == pgtest.SessionMode {
				t.Error("no notification arrived in session mode")
			}
		}
	}
}

func listening(t *testing.T, cfg pg.Config) (heard chan string) {
	t.Helper()
	up, ended := make(chan struct{}, 8), make(chan struct{})
	heard = make(chan string, 8)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		pgtest.Within(t, patience, "the listener ends", func() { <-ended })
	})
	go func() {
		defer close(ended)
		_ = pg.Listen(ctx, cfg, []string{"news"}, pg.ListenFuncs{
			Up: func() { up <- struct{}{} }, Notify: func(_, payload string) { heard <- payload },
		})
	}()
	<-up
	return heard
}
