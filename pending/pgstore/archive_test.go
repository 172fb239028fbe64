package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

var (
	current = fence.Token{Scope: "s", Epoch: 2, Holder: "a"}
	writes  atomic.Uint64 // numbers the writes of all tests
)

// shelf is a store, and a connection with which a test inspects its database.
type shelf struct {
	*pgstore.Store
	t    *testing.T
	db   *pgtest.DB
	conn *pgx.Conn
}

func openShelf(t *testing.T) shelf {
	t.Helper()
	db := pgtest.New(t)
	return shelf{opened(t, db.Config(), 4).Store("evm:1", "test"), t, db, db.Connect(t)}
}

// narrow gives the store one session, and one more for reading, so that their statistics are
// complete.
func (s shelf) narrow() (shelf, *pgstore.Database) {
	s.t.Helper()
	d := opened(s.t, s.db.Config(), 1)
	s.Store = d.Store("evm:1", "test")
	return s, d
}

func (s shelf) accept(key string) pending.Intent {
	s.t.Helper()
	in, err := s.Accept(s.t.Context(), pending.Intent{Account: pendingtest.Account, Key: key, Call: chain.Call{Gas: 1}})
	if err != nil {
		s.t.Fatal(err)
	}
	return in
}

// done gives an intent a slot, and stores it as done.
func (s shelf) done(index uint64, in pending.Intent) {
	s.t.Helper()
	s.write(pending.Batch{New: []pending.Slot{slotOf(index, in)}})
	s.write(pending.Batch{Changes: []pending.Change{{Index: index, Status: pending.Finalized, Intent: pending.Done, Hash: hashOf(index), Block: chain.Block{Number: 1, Hash: "b"}, Witnesses: [2]string{"a", "b"}, Waits: "w"}}})
}

func (s shelf) write(b pending.Batch) {
	s.t.Helper()
	b.Account, b.Number = pendingtest.Account, writes.Add(1)
	if err := s.Write(s.t.Context(), current, b); err != nil {
		s.t.Fatal(err)
	}
}

func (s shelf) archive(older time.Duration) int {
	s.t.Helper()
	n, err := s.Archive(s.t.Context(), current, pendingtest.Account, older, 10)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s shelf) count(table string) (n int) {
	s.t.Helper()
	if err := s.conn.QueryRow(s.t.Context(), `SELECT count(*) FROM conch.`+table).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

func hashOf(index uint64) chain.Hash { return chain.Hash(fmt.Sprintf("hash %d", index)) }

func slotOf(index uint64, in pending.Intent) pending.Slot {
	return pending.Slot{Index: index, Intent: &in.ID, Since: 10 + index, Attempts: []chain.Signed{{
		Account: pendingtest.Account, Index: index, Hash: hashOf(index), Bytes: []byte{1},
	}}}
}

// Archive moves what has been finished for long enough, and nothing else. IDs, keys and lists still
// find it, and the next nonce stays the same.
func TestArchive(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	one, two, three, no := s.accept("1"), s.accept("2"), s.accept("3"), s.accept("no")
	s.done(0, one)
	s.done(1, two)
	s.write(pending.Batch{New: []pending.Slot{slotOf(2, three)}, Rejects: []pending.Hold{{Intent: no.ID, Why: "no"}}})
	before, err := s.List(t.Context(), pending.Filter{Most: 9})
	if err != nil {
		t.Fatal(err)
	}
	if n := s.archive(time.Hour); n != 0 || s.count("archived_intents") != 0 {
		t.Errorf("%d intents were moved too early", n)
	}
	stale := fence.Token{Scope: "s", Epoch: 1}
	if _, err := s.Archive(t.Context(), stale, pendingtest.Account, 0, 10); !errors.Is(err, fence.ErrStale) || s.count("archived_intents") != 0 {
		t.Errorf("under a stale token: got error %v, want ErrStale and nothing moved", err)
	}
	if n := s.archive(0); n != 3 || s.count("intents") != 1 || s.count("pending_transactions") != 1 || s.count("pending_attempts") != 1 ||
		s.count("archived_transactions") != 2 || s.count("archived_attempts") != 2 {
		t.Errorf("moved %d intents, want 3 with their 2 slots and 2 attempts", n)
	}
	after, err := s.List(t.Context(), pending.Filter{Most: 9})
	if err != nil || fmt.Sprintf("%+v", deref(after)) != fmt.Sprintf("%+v", deref(before)) {
		t.Errorf("after archiving the list is %+v, error %v\nwant %+v", after, err, before)
	}
	if r, err := s.Get(t.Context(), two.ID); err != nil || r.Fate != pending.Done || r.Last.Hash != hashOf(1) || r.Last.Block.Number != 1 || *r.Index != 1 || r.Last.Witnesses != [2]string{"a", "b"} || r.Last.Waits != "w" {
		t.Errorf("archived record %+v, error %v; want done with nonce 1 in block 1, with what was stored of its witnesses and waits", r, err)
	}
	if all, err := s.Attempts(t.Context(), pendingtest.Account, 1); err != nil || len(all) != 1 || all[0].Hash != hashOf(1) || all[0].Signed.IsZero() {
		t.Errorf("of an archived nonce got attempts %+v, error %v; want one", all, err)
	}
	if again := s.accept("2"); again.ID != two.ID || s.count("intents") != 1 {
		t.Error("a key in the archive gave a new intent")
	}
	_, err = s.Accept(t.Context(), pending.Intent{Account: pendingtest.Account, Key: "2", Call: chain.Call{Gas: 2}})
	if !errors.Is(err, pending.ErrConflict) {
		t.Errorf("a key in the archive for another call: got error %v, want ErrConflict", err)
	}
	if err := s.Cancel(t.Context(), two.ID); err != nil {
		t.Errorf("cancelling an archived intent: %v", err)
	}
	s.write(pending.Batch{Changes: []pending.Change{{Index: 2, Status: pending.Finalized, Intent: pending.Done, Hash: hashOf(2), Block: chain.Block{Number: 1, Hash: "b"}}}})
	if n := s.archive(0); n != 0 {
		t.Errorf("%d intents were moved, want 0: the newest transaction stays", n)
	}
	if snap, err := s.Load(t.Context(), pendingtest.Account, 9, 100); err != nil || snap.Next != 3 || snap.Since != 12 || len(snap.Slots) != 0 {
		t.Errorf("loaded %+v, error %v; want no slot, next nonce 3 and height 12", snap, err)
	}
}

// deref returns the records as texts that can be compared.
func deref(records []pending.Record) (texts []string) {
	for _, r := range records {
		index := int64(-1)
		if r.Index != nil {
			index = int64(*r.Index)
		}
		r.Index = nil
		texts = append(texts, fmt.Sprintf("%+v %d", r, index))
	}
	return texts
}

// An intent that was read from the queue, then cancelled and archived, gets no slot. It was
// reported as cancelled and would be sent all the same.
func TestTheArchivedGetNoSlot(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	first, gone := s.accept("first"), s.accept("gone")
	if err := s.Cancel(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	if n := s.archive(0); n != 1 || s.count("archived_intents") != 1 {
		t.Fatalf("%d intents were archived, want 1", n)
	}
	err := s.Write(t.Context(), current, pending.Batch{
		Account: pendingtest.Account, Number: writes.Add(1), New: []pending.Slot{slotOf(0, first), slotOf(1, gone)},
	})
	if !errors.Is(err, pending.ErrOvertaken) {
		t.Errorf("a slot for an archived intent: got error %v, want ErrOvertaken", err)
	}
	if n, m := s.count("pending_transactions"), s.count("pending_attempts"); n != 0 || m != 0 {
		t.Errorf("%d slots and %d attempts were stored, want none", n, m)
	}
	s.write(pending.Batch{New: []pending.Slot{slotOf(0, first)}})
}

// Archive does not wait for a lock that a vacuum holds, since all callers of Accept would wait
// behind it. If nothing is due it does not lock the table at all.
func TestArchivingBlocksNobody(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	no := s.accept("no")
	s.write(pending.Batch{Rejects: []pending.Hold{{Intent: no.ID, Why: "no"}}})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	vacuum, err := s.db.Connect(t).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vacuum.Exec(ctx, `LOCK TABLE conch.intents IN SHARE UPDATE EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Archive(ctx, current, pendingtest.Account, 0, 10); n != 0 || err != nil {
		t.Errorf("during a vacuum %d intents were archived, error %v; want 0 and none", n, err)
	}
	s.accept("goes on")
	if err := vacuum.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	tx, err := s.conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	var moved, locks int
	if err := tx.QueryRow(ctx, `SELECT conch.pending_archive('evm:1', $1, '1 hour', 10)`, []byte(pendingtest.Account)).Scan(&moved); err != nil {
		t.Fatal(err)
	}
	err = tx.QueryRow(ctx, `SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'ShareRowExclusiveLock'`).Scan(&locks)
	if err != nil || moved != 0 || locks != 0 {
		t.Errorf("with nothing due: moved %d, took %d locks, error %v; want 0 and 0", moved, locks, err)
	}
	if n := s.archive(0); n != 1 {
		t.Errorf("after the vacuum %d intents were archived, want 1", n)
	}
}

// A key is found while its intent is moved to the archive.
func TestAKeyIsFoundWhileItMoves(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	one, two := s.accept("1"), s.accept("2")
	s.done(0, one)
	s.done(1, two)
	tx, err := s.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT conch.pending_archive('evm:1', $1, '0', 10)`, []byte(pendingtest.Account)); err != nil {
		t.Fatal(err)
	}
	found := make(chan pending.ID, 1)
	go func() {
		in, err := s.Accept(t.Context(), pending.Intent{Account: pendingtest.Account, Key: "1", Call: chain.Call{Gas: 1}})
		if err != nil {
			t.Error(err)
		}
		found <- in.ID
	}()
	s.blocked()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id := wait(t, found); id != one.ID {
		t.Error("one key gave two intents")
	}
}
