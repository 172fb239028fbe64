package pg_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

const anyVersion = "15.4"

func through(addr string) pg.Config { return pg.Config{URL: pgtest.ThroughURL(addr, "any")} }

// S1: Open refuses a pool in transaction mode, where a lock excludes no other client.
func TestTransactionModeIsRefused(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for _, fifo := range []bool{false, true} {
		for idle := range 5 {
			t.Run(fmt.Sprintf("fifo=%v idle=%d", fifo, idle), func(t *testing.T) {
				t.Parallel()
				pool := &fakePool{transaction: true, fifo: fifo, version: anyVersion, url: db.URL}
				_, err := pg.Open(t.Context(), through(pool.start(t, idle)), pg.Settings{Lease: time.Second})
				var pooler *pg.PoolerError
				if !errors.As(err, &pooler) || pooler.Mode != pg.PoolTransaction || !strings.Contains(err.Error(), "session mode") {
					t.Fatalf("Open returned %v, want a *PoolerError in transaction mode", err)
				}
			})
		}
	}
}

// This pool gives each client a backend of its own, so process ids do not show that it shares.
func TestAPoolThatHidesItsModeIsRefused(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	pool := &fakePool{transaction: true, sticky: true, version: anyVersion, url: pgtest.New(t).URL}
	_, err := pg.Open(t.Context(), through(pool.start(t, 0)), pg.Settings{})
	pooler, ok := errors.AsType[*pg.PoolerError](err)
	if !ok || pooler.Mode != pg.PoolTransaction {
		t.Fatalf("Open returned %v, want a *PoolerError in transaction mode", err)
	}
}

func TestARefusedPoolIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	pool := &fakePool{transaction: true, version: anyVersion, url: pgtest.New(t).URL}
	cfg := through(pool.start(t, 1))
	if _, err := pg.Open(t.Context(), cfg, pg.Settings{Lease: time.Second}); err == nil {
		t.Fatal("Open returned no error")
	}
	results, err := pgtest.Connect(t, cfg).PgConn().Exec(t.Context(), "SHOW idle_session_timeout").ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(results[0].Rows[0][0]); got != "0" {
		t.Fatalf("a backend of the pool has idle_session_timeout = %s, want 0", got)
	}
}

func TestSessionModeIsAllowedAndSaid(t *testing.T) {
	t.Parallel()
	pool := &fakePool{version: anyVersion, url: pgtest.New(t).URL}
	s := open(t, through(pool.start(t, 2)), pg.Settings{Lease: 3 * time.Second})
	if !s.Pooler() {
		t.Error("Pooler is false behind a pooler")
	}
	if got := shown(t, s, "idle_session_timeout"); got != "3s" {
		t.Errorf("idle_session_timeout = %s, want 3s", got)
	}
}

// A full pool does not show whether it shares backends.
func TestAPoolThatGivesNoSecondConnectionIsRefused(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	pool := &fakePool{size: 1, version: anyVersion, url: pgtest.New(t).URL}
	_, err := pg.Open(t.Context(), through(pool.start(t, 0)), pg.Settings{})
	var pooler *pg.PoolerError
	if !errors.As(err, &pooler) || pooler.Mode != pg.PoolUnknown || pg.Code(err) != "53300" {
		t.Fatalf("Open returned %v, want a *PoolerError in unknown mode with SQLSTATE 53300", err)
	}
}

func TestAnOldServerIsRefused(t *testing.T) {
	t.Parallel()
	pool := &fakePool{version: "13.14 (Ubuntu 13.14-1)", url: pgtest.New(t).URL}
	_, err := pg.Open(t.Context(), through(pool.start(t, 0)), pg.Settings{})
	if _, ok := errors.AsType[*pg.VersionError](err); !ok {
		t.Fatalf("Open returned %v, want a *VersionError", err)
	}
	for _, word := range []string{"13.14", "14 or later", "idle_session_timeout", "client_connection_check_interval"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not contain %q", err, word)
		}
	}
}
