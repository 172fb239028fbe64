package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/pgstore"
)

func number(n uint64) ledger.Sequence { return ledger.Sequence{Lineage: 7, Counter: n} }

// submitted is a change with an intent.
func submitted(n uint64, key string) core.Change {
	return core.Change{Contract: "k", Sender: &sender.Store{Intents: []sender.IntentRow{{Sequence: number(n), Key: key, Payload: []byte("pay")}}}}
}

func marked(m sender.Mark) core.Change {
	return core.Change{Contract: "k", Sender: &sender.Store{Marks: []sender.Mark{m}}}
}

func write(t testing.TB, s sequencer.Store, changes ...core.Change) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if twice, err := s.Write(ctx, changes); err != nil || len(twice) > 0 {
		t.Fatalf("twice %v, error %v", twice, err)
	}
}

func load(t testing.TB, s sequencer.Store) core.Stored {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stored, err := s.Load(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// counters are those of the open intents.
func counters(s core.Stored) (all []uint64) {
	for _, in := range s.Intents {
		all = append(all, in.Sequence.Counter)
	}
	return all
}

// S9: once another leader is minted, a stale holder stores nothing and starts nothing. It may still read.
func TestAStaleHolderStoresNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	first, second := opened(t, db.Config()), opened(t, db.Config())
	old := begin(t, first, 1)
	write(t, old, submitted(1, "a"))
	run(t, db.Connect(t), `SELECT public.mint(2)`)
	if _, err := old.Write(t.Context(), []core.Change{submitted(2, "b")}); !errors.Is(err, fence.ErrStale) || !errors.Is(err, sequencer.ErrOver) {
		t.Errorf("the stale holder's write: %v, want ErrStale and ErrOver", err)
	}
	if _, err := first.Begin(t.Context(), token(1)); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a start of the stale holder: %v, want ErrStale", err)
	}
	fresh := begin(t, second, 2)
	write(t, fresh, submitted(3, "c"))
	for name, s := range map[string]sequencer.Store{"the new leader": fresh, "the old one": old} {
		if got := counters(load(t, s)); !reflect.DeepEqual(got, []uint64{1, 3}) {
			t.Errorf("%s loads %v, want 1 and 3", name, got)
		}
	}
}

// A start of a node makes the writes of the one before fail, also under the same token: a node that was given up in the
// middle must not write what its successor has not loaded.
func TestALaterStartEndsTheOneBefore(t *testing.T) {
	t.Parallel()
	d := opened(t, pgtest.New(t).Config())
	old := begin(t, d, 1)
	write(t, old, submitted(1, "a"))
	fresh := begin(t, d, 1)
	if _, err := old.Write(t.Context(), []core.Change{submitted(2, "b")}); !errors.Is(err, pgstore.ErrLate) || !errors.Is(err, sequencer.ErrOver) {
		t.Errorf("a write of the earlier start: %v, want ErrLate", err)
	}
	write(t, fresh, submitted(3, "c"))
	if got := counters(load(t, fresh)); !reflect.DeepEqual(got, []uint64{1, 3}) {
		t.Errorf("loaded %v, want 1 and 3", got)
	}
}

// A start waits for a write under way, and then loads it.
func TestAStartWaitsForAWriteUnderWay(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := opened(t, db.Config())
	old := begin(t, d, 1)
	write(t, old, submitted(1, "a"))
	blocker := db.Connect(t)
	run(t, blocker, `BEGIN`)
	run(t, blocker, `SELECT FROM conch.sequencer_intents FOR UPDATE`)
	ended := make(chan error, 1)
	go func() {
		_, err := old.Write(t.Context(), []core.Change{marked(sender.Mark{Sequence: number(1), Failures: 2})})
		ended <- err
	}()
	waits(t, db, 1)
	begun := make(chan *pgstore.Store, 1)
	go func() {
		s, err := opened(t, db.Config()).Begin(t.Context(), token(1))
		if err != nil {
			t.Error(err)
		}
		begun <- s
	}()
	waits(t, db, 2)
	run(t, blocker, `COMMIT`)
	if err := receive(t, ended); err != nil {
		t.Errorf("the write under way: %v", err)
	}
	if got := load(t, receive(t, begun)).Intents[0].Failures; got != 2 {
		t.Errorf("the new start has loaded %d failures, want 2", got)
	}
}

// waits waits until some sessions of a database wait for a lock.
func waits(t *testing.T, db *pgtest.DB, sessions int) {
	t.Helper()
	conn := db.Connect(t)
	pgtest.Eventually(t, patience, "sessions wait for a lock", func() bool {
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n)
		return err == nil && n >= sessions
	})
}

func receive[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatalf("nothing came within %v", patience)
	}
	return v
}

// P38: a write that its node has given up, and that the server carries out after its repetition and a later one, is
// refused: it would take back what came after.
func TestALateWriteUndoesNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	run(t, db.Connect(t), `CREATE OR REPLACE FUNCTION conch.fence(scope text, epoch bigint, term uuid) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
		    IF current_setting('application_name') = 'slow' THEN PERFORM pg_advisory_xact_lock(2); END IF;
		END $$`)
	proxy, url := db.Proxy(t)
	slow := begin(t, opened(t, pg.Config{URL: url, AppName: "slow"}), 1)
	dispatched := func(name byte) core.Change {
		return marked(sender.Mark{Sequence: number(1), Dispatched: ledger.Hash{name}})
	}
	write(t, slow, submitted(1, "a"), dispatched(1))
	blocker := db.Connect(t)
	run(t, blocker, `SELECT pg_advisory_lock(2)`)
	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := slow.Write(ctx, []core.Change{dispatched(2)})
		ended <- err
	}()
	waits(t, db, 1)
	proxy.Refuse() // the server does not hear that the write is given up
	giveUp()
	if err := receive(t, ended); err == nil {
		t.Error("a write that was given up has ended well")
	}
	direct := slow.Over(opened(t, db.Config()))
	write(t, direct, dispatched(2))
	write(t, direct, dispatched(3))
	run(t, blocker, `SELECT pg_advisory_unlock(2)`)
	pgtest.Eventually(t, patience, "the late write is over", func() bool {
		var n int
		err := blocker.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'slow'`).Scan(&n)
		return err == nil && n == 0
	})
	if got := load(t, direct).Intents[0].Dispatched; got != (ledger.Hash{3}) {
		t.Errorf("after the late write %v is dispatched, want 3", got)
	}
}

// A contract's rows are one node's.
func TestTwoNodesInOneDatabase(t *testing.T) {
	t.Parallel()
	d := opened(t, pgtest.New(t).Config())
	write(t, begin(t, d, 1), submitted(1, "a"))
	other := token(1)
	other.Scope = "sequencer:you"
	s, err := d.Begin(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(t.Context(), []core.Change{submitted(2, "b")}); !errors.Is(err, pgstore.ErrTaken) || !errors.Is(err, sequencer.ErrOver) {
		t.Errorf("the other node's write: %v, want ErrTaken", err)
	}
	change := submitted(2, "b")
	change.Contract = "another"
	write(t, s, change)
}

// Callers that write at once take turns: none is taken for one that comes too late.
func TestWritesTakeTurns(t *testing.T) {
	t.Parallel()
	s := begin(t, opened(t, pgtest.New(t).Config()), 1)
	var writers sync.WaitGroup
	for i := range uint64(20) {
		writers.Go(func() {
			if _, err := s.Write(t.Context(), []core.Change{submitted(i, fmt.Sprint(i))}); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if n := len(load(t, s).Intents); n != 20 {
		t.Errorf("%d intents are stored, want 20", n)
	}
}
