package pgmint_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// Sixteen clients fence above READ COMMITTED without pause, while leaders drain and crash. Each leader
// has a successor, no statement of a lock session takes longer than a fifth of a lease, another scope
// of the same processes is never late, and no current token is called stale (R3, R4, R11; L4, L6).
func TestAStreamOfFencesStarvesNobody(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	const lease = 10 * time.Second
	db := pgtest.New(t)
	run(t, db.Connect(t), `CREATE TABLE work (n int)`)
	var now atomic.Pointer[fence.Token]
	squad := make([]*election.Elector, 5)
	for i := range squad {
		squad[i] = streamElector(t, db, fmt.Sprint("node-", i), lease, &now)
	}
	leading := func(after int64) *election.Elector {
		t.Helper()
		var who *election.Elector
		pgtest.Eventually(t, time.Minute, fmt.Sprintf("a leader after epoch %d", after), func() bool {
			for _, e := range squad {
				if s, _ := e.Status("s"); s.Leading && s.Token.Epoch > after {
					who = e
				}
			}
			return who != nil
		})
		return who
	}
	leader := leading(0)
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	var committed atomic.Int64
	for i := range 16 {
		conn := db.Connect(t)
		level := []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable}[i%2]
		clients.Go(func() {
			for ctx.Err() == nil && !conn.IsClosed() {
				streamOne(ctx, t, conn, level, *now.Load(), &committed)
			}
		})
	}
	watchStatements(ctx, t, db, &clients, lease/5)
	for round := range 4 {
		var more = committed.Load() + 50
		pgtest.Eventually(t, time.Minute, "work to flow", func() bool { return committed.Load() >= more })
		s, _ := leader.Status("s")
		if round == 3 {
			run(t, db.Connect(t), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()`, "conch "+leader.ID())
		} else if err := leader.Drain(t.Context(), "s"); err != nil {
			t.Errorf("drain: %v", err)
		}
		leader = leading(s.Token.Epoch)
	}
}

// streamElector campaigns for s, whose token it stores in now, and for quiet. It fails the test if a gate
// is late, a farewell is not heard, a scope is unled, or a transaction is evicted.
func streamElector(t *testing.T, db *pgtest.DB, id string, lease time.Duration, now *atomic.Pointer[fence.Token]) *election.Elector {
	t.Helper()
	e, err := election.New(election.Config{
		Mint: newMint(t, db.URL), ID: id, Lease: lease, Logger: slog.New(slog.DiscardHandler),
		Roles: []election.Role{{Scope: "quiet"}, {Scope: "s", Fenced: func(ctx context.Context, l election.Leadership) error {
			now.Store(&l.Token)
			<-ctx.Done()
			return nil
		}}},
		Events: election.Events{Fact: func(f election.Fact) {
			if f.Kind == election.Late || f.Kind == election.Unsaid || f.Kind == election.Unled || f.Kind == election.Evicted {
				t.Errorf("%s: %+v", id, f)
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = e.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return e
}

// streamOne runs one transaction of a client: an insert, the fence, some work, the commit.
func streamOne(ctx context.Context, t *testing.T, conn *pgx.Conn, level pgx.TxIsoLevel, token fence.Token, committed *atomic.Int64) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: level})
	if err == nil {
		_, err = tx.Exec(ctx, `INSERT INTO work VALUES (1)`)
	}
	if err == nil {
		err = pgfence.Fence(ctx, tx, token)
	}
	if err == nil {
		_, err = tx.Exec(ctx, `SELECT pg_sleep(0.03)`)
	}
	if err == nil {
		err = tx.Commit(ctx)
	} else if tx != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx))
	}
	switch {
	case err == nil:
		committed.Add(1)
	case ctx.Err() != nil, pg.Code(err) == "40001":
	case errors.Is(err, fence.ErrStale): // a stale token stays stale, so look now
		var current bool
		if err := conn.QueryRow(ctx, `SELECT term = $1 AND parted_at IS NULL FROM conch.leadership WHERE scope = 's'`, [16]byte(token.Term)).Scan(&current); err == nil && current {
			t.Errorf("%s is current, and the fence called it stale", token)
		}
	default:
		t.Errorf("a client of the stream: %v", err)
	}
}

// watchStatements fails the test if a statement of a lock session takes longer than most.
func watchStatements(ctx context.Context, t *testing.T, db *pgtest.DB, running *sync.WaitGroup, most time.Duration) {
	t.Helper()
	conn := db.Connect(t)
	running.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			rows, err := conn.Query(ctx, `SELECT application_name || ': ' || query FROM pg_stat_activity
				WHERE datname = current_database() AND application_name LIKE 'conch node-%' AND state = 'active' AND clock_timestamp() - query_start > $1`, most)
			if err != nil {
				return
			}
			slow, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err == nil && len(slow) > 0 {
				t.Errorf("a statement of a lock session takes longer than %s: %s", most, slow[0])
				return
			}
		}
	})
}
