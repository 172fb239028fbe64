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

// lonely is a server that can be made to wait for a missing standby, and a session that cancels
// such waits.
type lonely struct {
	t         *testing.T
	cfg       pg.Config
	admin     *pgx.Conn // its own commits do not wait
	cancelled atomic.Int64
	ctx       context.Context // of all statements: one that nothing cancels would wait for ever
	giveUp    context.CancelFunc
}

func newLonely(t *testing.T) *lonely {
	t.Helper()
	server := pgtest.Own(t, postmaster.Config{})
	l := &lonely{t: t, cfg: pg.Config{URL: server.URL("postgres")}}
	l.ctx, l.giveUp = context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(l.giveUp)
	l.admin = pgtest.Connect(t, l.cfg)
	run(t, l.admin, `SET synchronous_commit = local`)
	if err := made(t.Context(), l.admin); err != nil {
		t.Fatal(err)
	}
	return l
}

// waits makes commits wait for a standby, or for none if its name is empty.
func (l *lonely) waits(standby string) {
	l.t.Helper()
	run(l.t, l.admin, `ALTER SYSTEM SET synchronous_standby_names = '`+standby+`'`)
	run(l.t, l.admin, `SELECT pg_reload_conf()`)
	probe, err := pg.Connect(l.ctx, l.cfg)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = probe.Close(context.WithoutCancel(l.t.Context())) }()
	pgtest.Eventually(l.t, 30*time.Second, "commits wait for the standby "+standby, func() bool {
		err := pg.Confirmed(probe, func() error {
			_, err := probe.Exec(l.ctx, `SELECT pg_logical_emit_message(true, 'test', '')`)
			return err
		})
		return (err != nil) == (standby != "")
	})
}

// cancels ends every wait for a standby, until the test ends. It signals each transaction once: the
// wait is visible a moment longer, and a second signal would hit the next statement. The view reads
// the transaction before the wait: one that has just begun shows no transaction yet, and is met next time.
func (l *lonely) cancels() {
	l.t.Helper()
	conn := pgtest.Connect(l.t, l.cfg)
	ctx, stop := context.WithCancel(l.ctx)
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

// A commit for which the server has stopped waiting is on this server alone. Its caller gets an
// UnconfirmedError, neither success nor failure, and so does a caller that asks again, although the
// rows can be read, until the commit is confirmed.
func TestAnUnconfirmedCommitIsUnknown(t *testing.T) {
	t.Parallel()
	l := newLonely(t)
	s := shelf{opened(t, l.cfg, 4).Store("evm:1", "test"), t, &pgtest.DB{Name: "postgres", URL: l.cfg.URL}, l.admin}
	one, two, old := s.accept("1"), s.accept("2"), s.accept("old")
	s.write(pending.Batch{Rejects: []pending.Reject{{Intent: old.ID, Why: "no"}}})
	l.cancels()
	l.waits("nobody")
	intent := pending.Intent{Account: pendingtest.Account, Key: "new", Call: chain.Call{Gas: 1}}
	accept := func() error { _, err := s.Accept(l.ctx, intent); return err }
	cancel := func() error { return s.Cancel(l.ctx, two.ID) }
	for _, c := range []struct {
		what string
		do   func() error
	}{
		{"accept", accept},
		{"accept again", accept},
		{"cancel", cancel},
		{"cancel again", cancel},
		{"write", func() error {
			return s.Write(l.ctx, current, pending.Batch{Account: pendingtest.Account, Number: writes.Add(1), New: []pending.Slot{slotOf(0, one)}})
		}},
		{"settle", func() error { return s.Settle(l.ctx, current, pendingtest.Account, writes.Add(1)) }},
		{"archive", func() error {
			_, err := s.Archive(l.ctx, current, pendingtest.Account, 0, 10)
			return err
		}},
	} {
		var unknown *pg.UnconfirmedError
		if err := c.do(); !errors.As(err, &unknown) || errors.Is(err, pending.ErrOvertaken) || errors.Is(err, fence.ErrStale) {
			t.Errorf("%s: got error %v, want an UnconfirmedError", c.what, err)
		}
	}
	l.waits("")
	for what, do := range map[string]func() error{
		"accept": accept, "cancel": cancel,
		"settle": func() error { return s.Settle(l.ctx, current, pendingtest.Account, writes.Add(1)) },
	} {
		if err := do(); err != nil {
			t.Errorf("%s, with confirmed commits: %v", what, err)
		}
	}
	if snap, err := s.Load(l.ctx, pendingtest.Account, 0, 100); err != nil || len(snap.Slots) != 1 || snap.Queued != 1 {
		t.Errorf("loaded %+v, error %v; want one slot and one queued", snap, err)
	}
}

// T7: no attempt is sent before its commit is confirmed, however often the leader reads it in the
// rows. Then each intent is carried out once.
func TestNothingLeavesUnconfirmed(t *testing.T) {
	t.Parallel()
	const many = 5
	l := newLonely(t)
	node := chaintest.New(chaintest.Config{Depth: 2})
	from := node.Account("sender", 1<<60)
	line := node.Line()
	store := opened(t, l.cfg, 4).Store("evm:1", "test")
	for range many {
		_, err := store.Accept(l.ctx, pending.Intent{Account: from, Call: chain.Call{To: []byte(chaintest.Address("somebody")), Gas: 21_000}})
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
	ctx, cancel := context.WithCancel(l.ctx)
	ended := make(chan error, 1)
	defer func() { cancel(); _ = wait(t, ended) }()
	go func() { ended <- m.Lead(ctx, gate, current) }()
	before := l.cancelled.Load()
	pgtest.Eventually(t, time.Minute, "the leader writes and settles without confirmation", func() bool { return l.cancelled.Load() >= before+5 })
	if n := line.Calls("Submit"); n != 0 {
		t.Errorf("unconfirmed attempts were sent %d times", n)
	}
	l.waits("")
	pgtest.Eventually(t, time.Minute, "attempts are sent", func() bool { return line.Calls("Submit") > 0 })
	final := 0
	pgtest.Eventually(t, time.Minute, "all intents are done", func() bool {
		node.Mine()
		err := l.admin.QueryRow(l.ctx, `SELECT count(*) FILTER (WHERE fate = 'done') FROM conch.intents`).Scan(&final)
		return err == nil && final == many
	})
	if n, err := line.Next(l.ctx, from); err != nil || n != many {
		t.Errorf("%d transactions are in the chain, error %v; want %d", n, err, many)
	}
}
