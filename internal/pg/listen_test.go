package pg_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

type ear struct {
	heard     chan string
	ups, down atomic.Int64
}

func listen(t *testing.T, cfg pg.Config, hushed time.Duration, channels ...string) *ear {
	t.Helper()
	e := begin(t, cfg, hushed, channels...)
	e.isUp(t, 1)
	return e
}

func begin(t *testing.T, cfg pg.Config, hushed time.Duration, channels ...string) *ear {
	t.Helper()
	e := &ear{heard: make(chan string, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- pg.ListenHushed(ctx, cfg, channels, pg.ListenFuncs{
			Notify: func(channel, payload string) { e.heard <- channel + "=" + payload },
			Up:     func() { e.ups.Add(1) },
			Down:   func(error) { e.down.Add(1) },
		}, hushed)
	}()
	t.Cleanup(func() {
		cancel()
		pgtest.Within(t, patience, "the listener ends", func() {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Listen returned %v, want %v", err, context.Canceled)
			}
		})
	})
	return e
}

func (e *ear) isUp(t *testing.T, times int64) {
	t.Helper()
	pgtest.Eventually(t, patience, "the listener is up", func() bool { return e.ups.Load() >= times })
}

func (e *ear) hears(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-e.heard:
		if got != want {
			t.Fatalf("heard %q, want %q", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("never heard %q", want)
	}
}

// hearsAtLast notifies until the listener hears it: on a busy machine the connection may go
// down once more, and notifications sent meanwhile are lost.
func (e *ear) hearsAtLast(t *testing.T, db *pgtest.DB, channel, payload string) {
	t.Helper()
	conn, want := db.Connect(t), channel+"="+payload
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(patience); ; {
		if _, err := conn.Exec(t.Context(), "SELECT pg_notify($1, $2)", channel, payload); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-e.heard:
			if got != want {
				t.Fatalf("heard %q, want %q", got, want)
			}
			return
		case <-again.C:
		}
		if time.Now().After(end) {
			t.Fatalf("never heard %q", want)
		}
	}
}

func notify(t *testing.T, db *pgtest.DB, channel, payload string) {
	t.Helper()
	if _, err := db.Connect(t).Exec(t.Context(), "SELECT pg_notify($1, $2)", channel, payload); err != nil {
		t.Fatal(err)
	}
}

// S25: Listen hears all its channels and no others.
func TestListenHearsAllItsChannels(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	e := listen(t, db.Config(), patience, "one", `odd "name"`)
	notify(t, db, "other", "not for us")
	notify(t, db, "one", "a")
	notify(t, db, `odd "name"`, "b")
	e.hears(t, "one=a")
	e.hears(t, `odd "name"=b`)
}

// A server has a new listener read the whole queue of notifications, and goes on with it when its client has given up. So nobody begins
// to listen while the queue is long, and one session waits until it is short.
func TestALongQueueIsNotListenedTo(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	admin := db.Connect(t)
	full := func(usage string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), `CREATE OR REPLACE FUNCTION pg_catalog.pg_notification_queue_usage() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT `+usage+`::float8'`); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := admin.Exec(t.Context(), `SET allow_system_table_mods = on; ALTER FUNCTION pg_catalog.pg_notification_queue_usage() RENAME TO conch_test_usage`); err != nil {
		t.Fatal(err)
	}
	full("0.1")
	e := begin(t, db.Config(), time.Second, "one")
	asks := func() (pids []int32, queries string) {
		t.Helper()
		if err := admin.QueryRow(t.Context(), `SELECT array_agg(pid), coalesce(string_agg(query, '; '), '') FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`).Scan(&pids, &queries); err != nil {
			t.Fatal(err)
		}
		return pids, queries
	}
	var first time.Time
	pgtest.Eventually(t, patience, "it has asked for a while how long the queue is", func() bool {
		if _, queries := asks(); first.IsZero() && strings.Contains(queries, "queue_usage") {
			first = time.Now()
		}
		return !first.IsZero() && time.Since(first) > 500*time.Millisecond
	})
	if pids, queries := asks(); len(pids) != 1 && e.down.Load() == 0 || strings.Contains(queries, "LISTEN") || e.ups.Load() > 0 {
		t.Errorf("the sessions %v ask %q, up %d times; want one that does not listen", pids, queries, e.ups.Load())
	}
	full("0.001")
	e.isUp(t, 1)
	notify(t, db, "one", "a")
	e.hears(t, "one=a")
}

// S25: Listen reconnects, and calls Up after each connect.
func TestListenComesBack(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	proxy, url := db.Proxy(t)
	e := listen(t, pg.Config{URL: url}, patience, "one")
	proxy.Refuse()
	proxy.Reset()
	pgtest.Eventually(t, patience, "some attempts fail", func() bool { return e.down.Load() >= 3 })
	proxy.Heal()
	e.isUp(t, 2)
	notify(t, db, "one", "again")
	e.hears(t, "one=again")
}

// Keepalives do not notice this silence, since the proxy's kernel answers them.
func TestListenNoticesSilence(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	proxy, url := db.Proxy(t)
	e := listen(t, pg.Config{URL: url}, time.Second, "one") // also the time a busy machine has to answer
	proxy.Blackhole(tcpproxy.Both)
	pgtest.Eventually(t, patience, "the line is given up", func() bool { return e.down.Load() >= 1 })
	proxy.Heal()
	e.isUp(t, 2)
	e.hearsAtLast(t, db, "one", "again")
	if e.ups.Load() > 3 {
		t.Errorf("%d connects, want 3 at most: a live connection was given up", e.ups.Load())
	}
}

func TestSilenceAloneIsNoReasonToGiveUp(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	e := listen(t, db.Config(), time.Second, "one") // also the time a busy machine has to answer
	start := time.Now()
	pgtest.Eventually(t, patience, "several silences pass", func() bool { return time.Since(start) > 3500*time.Millisecond })
	notify(t, db, "one", "still there")
	e.hears(t, "one=still there")
	if e.down.Load() != 0 {
		t.Fatalf("the connection went down %d times, want 0", e.down.Load())
	}
}

func TestListenRefusesABadConfiguration(t *testing.T) {
	t.Parallel()
	err := pg.Listen(t.Context(), pg.Config{URL: "postgres://h:port/"}, nil, pg.ListenFuncs{})
	if _, ok := errors.AsType[*pg.ConfigError](err); !ok {
		t.Fatalf("Listen returned %v, want a *ConfigError", err)
	}
}
