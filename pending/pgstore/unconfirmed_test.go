package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// A commit for which the server has stopped waiting is on this server alone. Its caller gets an
// UnconfirmedError, neither success nor failure, and so does a caller that asks again, although the
// rows can be read, until the commit is confirmed.
func TestAnUnconfirmedCommitIsUnknown(t *testing.T) {
	t.Parallel()
	l := pgtest.NewLonely(t, made)
	s := shelf{opened(t, l.Config, 4).Store("evm:1", "test"), t, &pgtest.DB{Name: "postgres", URL: l.Config.URL}, l.Admin}
	one, two, old := s.accept("1"), s.accept("2"), s.accept("old")
	s.write(pending.Batch{Rejects: []pending.Hold{{Intent: old.ID, Why: "no"}}})
	l.EndsWaits()
	l.Waits("nobody")
	intent := pending.Intent{Account: pendingtest.Account, Key: "new", Call: chain.Call{Gas: 1}}
	accept := func() error { _, err := s.Accept(l.Ctx, intent); return err }
	cancel := func() error { return s.Cancel(l.Ctx, two.ID) }
	for _, c := range []struct {
		what string
		do   func() error
	}{
		{"accept", accept},
		{"accept again", accept},
		{"cancel", cancel},
		{"cancel again", cancel},
		{"write", func() error {
			return s.Write(l.Ctx, current, pending.Batch{Account: pendingtest.Account, Number: writes.Add(1), New: []pending.Slot{slotOf(0, one)}})
		}},
		{"settle", func() error { return s.Settle(l.Ctx, current, pendingtest.Account, writes.Add(1)) }},
		{"archive", func() error {
			_, err := s.Archive(l.Ctx, current, pendingtest.Account, 0, 10)
			return err
		}},
	} {
		var unknown *pg.UnconfirmedError
		if err := c.do(); !errors.As(err, &unknown) || errors.Is(err, pending.ErrOvertaken) || errors.Is(err, fence.ErrStale) {
			t.Errorf("%s: got error %v, want an UnconfirmedError", c.what, err)
		}
	}
	l.Waits("")
	for what, do := range map[string]func() error{
		"accept": accept, "cancel": cancel,
		"settle": func() error { return s.Settle(l.Ctx, current, pendingtest.Account, writes.Add(1)) },
	} {
		if err := do(); err != nil {
			t.Errorf("%s, with confirmed commits: %v", what, err)
		}
	}
	if snap, err := s.Load(l.Ctx, pendingtest.Account, 0, 100); err != nil || len(snap.Slots) != 1 || snap.Queued != 1 {
		t.Errorf("loaded %+v, error %v; want one slot and one queued", snap, err)
	}
}

// T7: no attempt is sent before its commit is confirmed, however often the leader reads it in the
// rows. Then each intent is carried out once.
func TestNothingLeavesUnconfirmed(t *testing.T) {
	t.Parallel()
	const many = 5
	l := pgtest.NewLonely(t, made)
	node := chaintest.New(chaintest.Config{Depth: 2})
	from := node.Account("sender", 1<<60)
	line := node.Line()
	store := opened(t, l.Config, 4).Store("evm:1", "test")
	for range many {
		_, err := store.Accept(l.Ctx, pending.Intent{Account: from, Call: chain.Call{To: []byte(chaintest.Address("somebody")), Gas: 21_000}})
		if err != nil {
			t.Fatal(err)
		}
	}
	l.EndsWaits()
	l.Waits("nobody")
	m, err := pending.New(pending.Config{Account: from, Chain: line, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	gate, latch := fence.New("s", nil)
	latch.Open(current, 0, fence.Boottime().Add(time.Hour))
	ctx, cancel := context.WithCancel(l.Ctx)
	ended := make(chan error, 1)
	defer func() { cancel(); _ = wait(t, ended) }()
	go func() { ended <- m.Lead(ctx, gate, current) }()
	before := l.Ended()
	pgtest.Eventually(t, time.Minute, "the leader writes and settles without confirmation", func() bool { return l.Ended() >= before+5 })
	if n := line.Calls("Submit"); n != 0 {
		t.Errorf("unconfirmed attempts were sent %d times", n)
	}
	l.Waits("")
	pgtest.Eventually(t, time.Minute, "attempts are sent", func() bool { return line.Calls("Submit") > 0 })
	final := 0
	pgtest.Eventually(t, time.Minute, "all intents are done", func() bool {
		node.Mine()
		err := l.Admin.QueryRow(l.Ctx, `SELECT count(*) FILTER (WHERE fate = 'done') FROM conch.intents`).Scan(&final)
		return err == nil && final == many
	})
	if n, err := line.Next(l.Ctx, from); err != nil || n != many {
		t.Errorf("%d transactions are in the chain, error %v; want %d", n, err, many)
	}
}
