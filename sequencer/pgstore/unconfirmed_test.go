package pgstore_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/pgstore"
)

// P38: the answer of a commit is lost. The write may be repeated, and changes nothing the second time.
func TestTheAnswerOfACommitIsLost(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	proxy, url := db.Proxy(t)
	s := begin(t, opened(t, pg.Config{URL: url}), 1)
	write(t, s, submitted(1, "a")) // there is a connection
	changes := []sequencer.Change{submitted(2, "b"), submitted(3, "a")}
	proxy.Blackhole(tcpproxy.ToClient)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Write(t.Context(), changes)
		ended <- err
	}()
	conn := db.Connect(t)
	pgtest.Eventually(t, patience, "the write is committed", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM conch.sequencer_intents`).Scan(&n)
		return err == nil && n == 2
	})
	proxy.Reset()
	if err := receive(t, ended); err == nil || errors.Is(err, fence.ErrStale) || errors.Is(err, pgstore.ErrLate) {
		t.Errorf("without an answer: %v, want an error that says nothing of the outcome", err)
	}
	proxy.Heal()
	before := load(t, s)
	twice, err := s.Write(t.Context(), changes)
	if want := []sequencer.Twice{{Contract: "k", Sequence: number(3)}}; err != nil || !reflect.DeepEqual(twice, want) {
		t.Errorf("the second time: twice %v, error %v; want %v", twice, err, want)
	}
	if after := load(t, s); !reflect.DeepEqual(after, before) {
		t.Errorf("the second time has changed %+v to %+v", before, after)
	}
}

// A commit for which the server has stopped waiting for its standby is on this server alone: neither success nor failure,
// and so is its repetition, although the rows can be read, until a commit is confirmed.
func TestAnUnconfirmedCommitIsUnknown(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{})
	cfg := pg.Config{URL: server.URL("postgres")}
	admin := pgtest.Connect(t, cfg)
	run(t, admin, `SET synchronous_commit = local`)
	if err := made(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	d := opened(t, cfg)
	s := begin(t, d, 1)
	standby := func(name string) {
		run(t, admin, `ALTER SYSTEM SET synchronous_standby_names = '`+name+`'`)
		run(t, admin, `SELECT pg_reload_conf()`)
		probe := pgtest.Connect(t, cfg)
		pgtest.Eventually(t, patience, "the setting is in force", func() bool {
			var now string
			return probe.QueryRow(t.Context(), `SHOW synchronous_standby_names`).Scan(&now) == nil && now == name
		})
	}
	standby("nobody")
	probe := pgtest.Connect(t, cfg)
	pgtest.Eventually(t, patience, "commits wait for the standby", func() bool { return delays(t.Context(), probe, admin) })
	store := func() error { _, err := s.Write(t.Context(), []sequencer.Change{submitted(1, "a")}); return err }
	for _, c := range []struct {
		what string
		do   func() error
	}{
		{"a write", store}, {"its repetition", store},
		{"a start", func() error { _, err := d.Begin(t.Context(), token(1)); return err }},
	} {
		ended := make(chan error, 1)
		go func() { ended <- c.do() }()
		pgtest.Eventually(t, patience, c.what+" waits for the standby", func() bool { return cancels(t.Context(), admin) })
		var unknown *pg.UnconfirmedError
		if err := receive(t, ended); !errors.As(err, &unknown) {
			t.Errorf("%s: %v, want an UnconfirmedError", c.what, err)
		}
	}
	standby("")
	s = begin(t, d, 1)
	write(t, s, submitted(1, "a"))
	if got := counters(load(t, s)); !reflect.DeepEqual(got, []uint64{1}) {
		t.Errorf("loaded %v, want the intent once", got)
	}
}

// delays reports whether a commit waits for the standby. The checkpointer sees to that, at a time after the setting can be seen.
func delays(ctx context.Context, probe, admin *pgx.Conn) bool {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = probe.Exec(ctx, `COMMENT ON DATABASE postgres IS 'a write'`)
	}()
	for {
		select {
		case <-ended:
			return false
		default:
			if cancels(ctx, admin) {
				<-ended
				return true
			}
		}
	}
}

// cancels has the server stop waiting for the standby, if it does.
func cancels(ctx context.Context, admin *pgx.Conn) bool {
	var n int
	err := admin.QueryRow(ctx, `SELECT count(*) FILTER (WHERE pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`).Scan(&n)
	return err == nil && n > 0
}
