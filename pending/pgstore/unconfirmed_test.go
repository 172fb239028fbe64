package pgstore_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// lonely is a server whose commits wait for a standby that does not exist, once it is
// told to, and somebody who cancels every such wait.
type lonely struct {
	t         *testing.T
	cfg       pg.Config
	admin     *pgx.Conn // its own commits wait for nobody
	cancelled atomic.Int64
}

func newLonely(t *testing.T) *lonely {
	t.Helper()
	server := pgtest.Own(t, postmaster.Config{})
	l := &lonely{t: t, cfg: pg.Config{URL: server.URL("postgres")}}
	l.admin = pgtest.Connect(t, l.cfg)
	run(t, l.admin, `SET synchronous_commit = local`)
	if err := made(t.Context(), l.admin); err != nil {
		t.Fatal(err)
	}
	return l
}

// waits has commits wait for that standby, or for none again.
func (l *lonely) waits(standby string) {
	l.t.Helper()
	run(l.t, l.admin, `ALTER SYSTEM SET synchronous_standby_names = '`+standby+`'`)
	run(l.t, l.admin, `SELECT pg_reload_conf()`)
	probe, err := pg.Connect(l.t.Context(), l.cfg)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = probe.Close(context.WithoutCancel(l.t.Context())) }()
	pgtest.Eventually(l.t, 30*time.Second, "commits wait for the standby "+standby, func() bool {
		err := pg.Confirmed(probe, func() error {
			_, err := probe.Exec(l.t.Context(), `SELECT pg_logical_emit_message(true, 'test', '')`)
			return err
		})
		return (err != nil) == (standby != "")
	})
}

// cancels ends every wait for a standby, until the test ends. Each one once: it is still
// seen for a moment after that, and a second signal would hit the statement that follows.
func (l *lonely) cancels() {
	l.t.Helper()
	conn := pgtest.Connect(l.t, l.cfg)
	ctx, stop := context.WithCancel(l.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		ended := []string{} // transactions; whoever waits has one
		for {
			var more []string
			err := conn.QueryRow(ctx, `SELECT coalesce(array_agg(backend_xid::text) FILTER (WHERE pg_cancel_backend(pid)), '{}')
				FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND backend_xid::text <> ALL ($1::text[])`, ended).Scan(&more)
			if err != nil {
				return
			}
			ended = append(ended, more...)
			l.cancelled.Add(int64(len(more)))
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	l.t.Cleanup(func() { stop(); wait(l.t, done) })
}

// A commit that the server has stopped waiting for is on this server alone: whoever asked
// is told that nobody knows, not that it is stored, nor that it is not. Whoever asks again
// is told no more, although the rows are there to be read; once it is confirmed, they are.
func TestAnUnconfirmedCommitIsUnknown(t *testing.T) {
	t.Parallel()
	l := newLonely(t)
	s := shelf{opened(t, l.cfg, 4).Store("evm:1", "test"), t, &pgtest.DB{Name: "postgres", URL: l.cfg.URL}, l.admin}
	one, two, old := s.accept("1"), s.accept("2"), s.accept("old")
	s.write(pending.Batch{Rejects: []pending.Reject{{Intent: old.ID, Why: "no"}}})
	l.cancels()
	l.waits("nobody")
	wish := pending.Intent{Account: pendingtest.Account, Key: "new", Call: chain.Call{Gas: 1}}
	accept := func() error { _, err := s.Accept(t.Context(), wish); return err }
	cancel := func() error { return s.Cancel(t.Context(), two.ID) }
	for _, c := range []struct {
		what string
		do   func() error
	}{
		{"accept", accept},
		{"the same again", accept},
		{"cancel", cancel},
		{"the same again", cancel},
		{"write", func() error {
			return s.Write(t.Context(), current, pending.Batch{Account: pendingtest.Account, Number: writes.Add(1), New: []pending.Slot{slotOf(0, one)}})
		}},
		{"settle", func() error { return s.Settle(t.Context(), current, pendingtest.Account, writes.Add(1)) }},
		{"archive", func() error {
			_, err := s.Archive(t.Context(), current, pendingtest.Account, 0, 10)
			return err
		}},
	} {
		var unknown *pg.UnconfirmedError
		if err := c.do(); !errors.As(err, &unknown) || errors.Is(err, pending.ErrOvertaken) || errors.Is(err, fence.ErrStale) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	l.waits("")
	for what, do := range map[string]func() error{
		"accept": accept, "cancel": cancel,
		"settle": func() error { return s.Settle(t.Context(), current, pendingtest.Account, writes.Add(1)) },
	} {
		if err := do(); err != nil {
			t.Errorf("%s, when it is confirmed: %v", what, err)
		}
	}
	if snap, err := s.Load(t.Context(), pendingtest.Account, 0); err != nil || len(snap.Slots) != 1 || snap.Queued != 1 {
		t.Errorf("%+v, %v", snap, err)
	}
}

// T7: nothing leaves whose commit is not confirmed, however often the leader reads the
// rows and finds it there; when it is, each intent is done once.
func TestNothingLeavesUnconfirmed(t *testing.T) {
	t.Parallel()
	const many = 5
	l := newLonely(t)
	node := chaintest.New(chaintest.Config{Depth: 2})
	from := node.Account("sender", 1<<60)
	line := node.Line()
	store := opened(t, l.cfg, 4).Store("evm:1", "test")
	for range many {
		_, err := store.Accept(t.Context(), pending.Intent{Account: from, Call: chain.Call{To: []byte(chaintest.Address("somebody")), Gas: 21_000}})
		if err != nil {
			t.Fatal(err)
		}
	}
	l.cancels()
	l.waits("nobody")
	m, err := pending.New(pending.Config{Account: from, Chain: line, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	gate, latch := fence.New("s", nil)
	latch.Open(current, 0, fence.Boottime().Add(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	defer func() { cancel(); _ = wait(t, ended) }()
	go func() { ended <- m.Lead(ctx, gate, current) }()
	before := l.cancelled.Load()
	pgtest.Eventually(t, time.Minute, "the leader writes and settles in vain", func() bool { return l.cancelled.Load() >= before+5 })
	if n := line.Calls("Submit"); n != 0 {
		t.Errorf("it was sent, %d times", n)
	}
	l.waits("")
	pgtest.Eventually(t, time.Minute, "they are sent", func() bool { return line.Calls("Submit") > 0 })
	final := 0
	pgtest.Eventually(t, time.Minute, "all are done", func() bool {
		node.Mine()
		err := l.admin.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE fate = 'done') FROM conch.intents`).Scan(&final)
		return err == nil && final == many
	})
	if n, err := line.Next(t.Context(), from, chain.Best); err != nil || n != many {
		t.Errorf("%d transactions are in the chain, %v", n, err)
	}
}
