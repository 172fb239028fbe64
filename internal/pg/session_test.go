package pg_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

const testLock = 42

func closeNow(s *pg.Session) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = s.Close(ctx)
}

func shown(t *testing.T, s *pg.Session, setting string) (value string) {
	t.Helper()
	if err := s.Conn().QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// S1: the settings of the dedicated session turn its locks into a lease.
func TestTheSessionIsALease(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{TCP: true, Settings: map[string]string{"synchronous_commit": "off", "client_min_messages": "error"}})
	s := open(t, pg.Config{URL: server.TCPURL("postgres")}, pg.Settings{Lease: 3 * time.Second, LockTimeout: 300 * time.Millisecond})
	for setting, want := range map[string]string{
		"idle_session_timeout":                "3s",
		"idle_in_transaction_session_timeout": "3s",
		"tcp_keepalives_idle":                 "1",
		"tcp_keepalives_interval":             "1",
		"tcp_keepalives_count":                "3",
		"tcp_user_timeout":                    "3000",
		"client_connection_check_interval":    "1s",
		"lock_timeout":                        "300ms",
		"synchronous_commit":                  "on",
		"client_min_messages":                 "warning",
		"jit":                                 "off",
	} {
		if got := shown(t, s, setting); got != want {
			t.Errorf("%s = %s, want %s", setting, got, want)
		}
	}
	if s.Pooler() {
		t.Error("a pooler is said to be in between")
	}
}

// Connections of pg.Connect commit too, so they receive warnings.
func TestEveryConnectionIsSentWarnings(t *testing.T) {
	t.Parallel()
	cfg := pgtest.New(t).Config()
	cfg.URL += "&client_min_messages=error"
	conn, err := pg.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var level, jit string
	err = conn.QueryRow(t.Context(), `SELECT current_setting('client_min_messages'), current_setting('jit')`).Scan(&level, &jit)
	if err != nil || level != "warning" || jit != "off" {
		t.Errorf("client_min_messages = %s and jit = %s, want warning and off (error %v)", level, jit, err)
	}
}

func TestWithoutALeaseOnlyTheConnectionCounts(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.New(t).Config(), pg.Settings{})
	for _, setting := range []string{"idle_session_timeout", "idle_in_transaction_session_timeout", "client_connection_check_interval", "lock_timeout"} {
		if got := shown(t, s, setting); got != "0" {
			t.Errorf("%s = %s, want 0", setting, got)
		}
	}
}

func TestRemoteApplyIsNotWeakened(t *testing.T) {
	t.Parallel()
	cfg := pgtest.New(t).Config()
	cfg.URL += "&synchronous_commit=remote_apply"
	if got := shown(t, open(t, cfg, pg.Settings{Lease: time.Second}), "synchronous_commit"); got != "remote_apply" {
		t.Fatalf("synchronous_commit = %s, want remote_apply", got)
	}
}

func locked(t *testing.T, conn *pgx.Conn) (got bool) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT pg_try_advisory_lock($1)", testLock).Scan(&got); err != nil {
		t.Fatal(err)
	}
	return got
}

// S1, S4: a holder that is cut off loses its lock after the lease, by the server's clock.
func TestASilentHolderLosesItsLock(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	db := pgtest.New(t)
	other := db.Connect(t)
	proxy, url := db.Proxy(t)
	holder := open(t, pg.Config{URL: url}, pg.Settings{Lease: lease})
	start := time.Now() // before the last statement that the server receives
	if !locked(t, holder.Conn()) {
		t.Fatal("no lock")
	}
	proxy.Blackhole(tcpproxy.Both)
	pgtest.Eventually(t, patience, "the lock is free", func() bool { return locked(t, other) })
	if took := time.Since(start); took < lease {
		t.Errorf("the lock is free after %v, before the lease of %v", took, lease)
	}
	proxy.Heal()
	if err := holder.Conn().Ping(t.Context()); !pg.IsLost(err) || !holder.Lost() {
		t.Fatalf("the holder's ping returned %v and Lost is %v, want a lost session", err, holder.Lost())
	}
}

func TestAWarningIsHandedOver(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.New(t).Config(), pg.Settings{})
	for level, want := range map[string]bool{"NOTICE": false, "WARNING": true} {
		batch := &pgx.Batch{}
		batch.Queue("DO $$ BEGIN RAISE " + level + " 'careful'; END $$")
		batch.Queue("SELECT 1")
		warning, err := s.Watch(func(conn *pgx.Conn) error { return conn.SendBatch(t.Context(), batch).Close() })
		if err != nil || (warning != nil) != want {
			t.Errorf("%s: warning %v, want one: %v (error %v)", level, warning, want, err)
		}
	}
	warning, err := s.Watch(func(conn *pgx.Conn) error { return conn.Ping(t.Context()) })
	if warning != nil || err != nil {
		t.Errorf("Watch returned the old warning %v (error %v)", warning, err)
	}
}

// If an operator cancels a commit that waits for its standby, it returns with a WARNING.
func TestACommitThatReachedNoStandbyWarns(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{})
	cfg := pg.Config{URL: server.URL("postgres")}
	admin := pgtest.Connect(t, cfg)
	if _, err := admin.Exec(t.Context(), "CREATE TABLE beat (n int)"); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()"} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, cfg, pg.Settings{})
	pgtest.Eventually(t, patience, "the session asks for a standby", func() bool { return shown(t, s, "synchronous_standby_names") == "nobody" })

	type result struct {
		warning *pgconn.Notice
		err     error
	}
	done := make(chan result, 1)
	go func() {
		// The session shows the setting before the checkpointer has put it into force.
		// Until then a commit does not wait and returns no warning.
		var got result
		for got.warning == nil && got.err == nil {
			batch := &pgx.Batch{}
			batch.Queue("INSERT INTO public.beat VALUES (1)")
			got.warning, got.err = s.Watch(func(conn *pgx.Conn) error { return conn.SendBatch(t.Context(), batch).Close() })
		}
		done <- got
	}()
	pgtest.Eventually(t, patience, "the commit waits for the standby", func() bool {
		var waits bool
		err := admin.QueryRow(t.Context(), "SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = $1", s.Conn().PgConn().PID()).Scan(&waits)
		return err == nil && waits
	})
	if _, err := admin.Exec(t.Context(), "SELECT pg_cancel_backend($1)", s.Conn().PgConn().PID()); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-done:
		if got.warning == nil || got.err != nil {
			t.Fatalf("got warning %v and error %v, want a warning alone", got.warning, got.err)
		}
	case <-time.After(patience):
		t.Fatal("the commit still waits")
	}
}

func TestAStandbyIsRefused(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{})
	signal := filepath.Join(server.DataDir(), "standby.signal")
	if err := errors.Join(os.WriteFile(signal, nil, 0o600), server.Give(signal), server.RestartFast(t.Context())); err != nil {
		t.Fatal(err)
	}
	_, err := pg.Open(t.Context(), pg.Config{URL: server.URL("postgres")}, pg.Settings{})
	if _, ok := errors.AsType[*pg.StandbyError](err); !ok {
		t.Fatalf("Open returned %v, want a *StandbyError", err)
	}
}
