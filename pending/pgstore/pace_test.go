package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// counted counts the applied blocks that Heads reports.
type counted struct {
	chain.Chain
	heads atomic.Int64
}

func (c *counted) Heads(ctx context.Context, from chain.Block) iter.Seq2[chain.Turn, error] {
	return func(yield func(chain.Turn, error) bool) {
		for turn, err := range c.Chain.Heads(ctx, from) {
			if err == nil && turn.Kind == chain.Applied {
				c.heads.Add(1)
			}
			if !yield(turn, err) {
				return
			}
		}
	}
}

// A leader commits once for each batch and for each block: at most a hundredth of the number of
// transactions, plus twice the number of blocks. The fence, which ends every transaction of a
// leader, counts the commits.
func TestCommits(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	const many = 3000
	s := openShelf(t)
	node := chaintest.New(chaintest.Config{Depth: 2, BlockGas: 700 * 21_000})
	from := node.Account("sender", 1<<60)
	line := &counted{Chain: node.Line()}
	run(t, s.conn, `CREATE TABLE public.passed (xid xid8 PRIMARY KEY)`)
	run(t, s.conn, `CREATE OR REPLACE FUNCTION conch.fence(scope text, epoch bigint, term uuid) RETURNS void LANGUAGE sql AS
		'INSERT INTO public.passed VALUES (pg_current_xact_id())'`)
	if _, err := s.conn.Exec(t.Context(), `INSERT INTO conch.intents (id, chain, account, to_account, value, data, gas, creator)
		SELECT gen_random_uuid(), 'evm:1', $1, $2, 1, '', 21000, 'test' FROM generate_series(1, $3)`,
		[]byte(from), []byte(chaintest.Address("somebody")), many); err != nil {
		t.Fatal(err)
	}
	m, err := pending.New(pending.Config{
		Account: from, Chain: line, Store: s.Store, Longest: time.Minute,
		Patience: time.Hour, // else there are commits between blocks
		Events: pending.Events{Trouble: func(err error) {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	gate, latch := fence.New("s", nil)
	latch.Open(current, 0, fence.Boottime().Add(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Lead(ctx, gate, current) }()
	mined, polls := 0, 0
	for deadline := time.Now().Add(2 * time.Minute); ; polls++ {
		var accepted, final int
		err := s.conn.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE final) FROM conch.pending_transactions`).Scan(&accepted, &final)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%d of %d are final, error %v", final, many, err)
		}
		if final == many {
			break
		}
		if accepted >= mined+1000 || accepted == many && polls > 100 { // few blocks, so that the limit is tight
			node.Mine()
			mined, polls = accepted, 0
		}
	}
	cancel()
	_ = wait(t, ended)
	var commits int
	if err := s.conn.QueryRow(t.Context(), `SELECT count(*) FROM passed`).Scan(&commits); err != nil {
		t.Fatal(err)
	}
	heads := int(line.heads.Load())
	t.Logf("%d transactions, %d commits, %d blocks", many, commits, heads)
	if commits == 0 || commits > many/100+2*heads {
		t.Errorf("%d transactions and %d blocks took %d commits, want at most %d", many, heads, commits, many/100+2*heads)
	}
}

func run(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// A long history slows nothing down: one transaction touches as many pages beside a million
// finished ones as beside none, and no table is scanned. The test counts pages, because time
// depends on the machine.
func TestLongHistory(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	rows := 30_000
	if os.Getenv("CONCH_NIGHTLY") != "" {
		rows = 1_000_000
	}
	s, d := openShelf(t).narrow()
	index := uint64(2_000_000)
	life := func() {
		in := s.accept(fmt.Sprint(index))
		if _, err := s.Queue(t.Context(), pendingtest.Account, false, 10); err != nil {
			t.Fatal(err)
		}
		s.done(index, in)
		if _, err := s.Waiting(t.Context(), pendingtest.Account); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(t.Context(), pendingtest.Account, index, 100); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), in.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Counts(t.Context()); err != nil {
			t.Fatal(err)
		}
		index++
	}
	touched := func() (pages, scans int) {
		look := func() (pages, scans int) {
			// Flush all sessions: otherwise another one's inserts are counted a second later.
			err := d.Flush(t.Context())
			_, other := s.conn.Exec(t.Context(), `SELECT pg_stat_force_next_flush()`)
			if err := errors.Join(err, other); err != nil {
				t.Fatal(err)
			}
			err = s.conn.QueryRow(t.Context(), `SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0))::int,
				(SELECT sum(seq_scan)::int FROM pg_stat_user_tables WHERE schemaname = 'conch' AND relname IN ('intents', 'pending_transactions', 'pending_attempts'))
				FROM pg_statio_user_tables WHERE schemaname = 'conch'`).Scan(&pages, &scans)
			if err != nil {
				t.Fatal(err)
			}
			return pages, scans
		}
		p, sc := look()
		for range 5 {
			life()
		}
		q, sd := look()
		return (q - p) / 5, sd - sc
	}
	for range 3 { // the first rounds read the catalog and plan
		life()
	}
	before, _ := touched()
	for _, sql := range []string{
		`ALTER TABLE conch.intents DISABLE TRIGGER USER`, `ALTER TABLE conch.pending_transactions DISABLE TRIGGER USER`,
		`INSERT INTO conch.intents (id, chain, account, idempotency_key, to_account, value, data, gas, creator, nonce, fate)
		 SELECT md5(g::text)::uuid, 'evm:1', $1, 'old ' || g, '', 0, '', 21000, 'x', g, 'done' FROM generate_series(1, $2::int) g`,
		`INSERT INTO conch.pending_transactions (chain, account, nonce, intent, hash, state, final, since_block, creator)
		 SELECT 'evm:1', $1, g, md5(g::text)::uuid, sha256(g::text::bytea), 'finalized', true, 1, 'x' FROM generate_series(1, $2::int) g`,
		`INSERT INTO conch.pending_attempts (chain, account, nonce, n, hash, signed, gas, filler)
		 SELECT 'evm:1', $1, g, 1, sha256(g::text::bytea), '', 1, false FROM generate_series(1, $2::int) g`,
		`ALTER TABLE conch.intents ENABLE TRIGGER USER`, `ALTER TABLE conch.pending_transactions ENABLE TRIGGER USER`,
		`ANALYZE conch.intents, conch.pending_transactions, conch.pending_attempts`,
	} {
		args := []any{[]byte(pendingtest.Account), rows}
		if sql[0] == 'A' {
			args = nil
		}
		if _, err := s.conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for range 3 {
		life()
	}
	after, scans := touched()
	t.Logf("a transaction's life touches %d pages, %d after %d finished ones; %d scans", before, after, rows, scans)
	if after > 2*before || scans != 0 {
		t.Errorf("a transaction's life touches %d pages, and %d after %d finished ones, with %d scans; want at most twice as many and no scan", before, after, rows, scans)
	}
}
