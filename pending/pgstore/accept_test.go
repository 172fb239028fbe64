package pgstore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// together accepts intents with these keys, all of which are asked for before the first answer.
func (s shelf) together(keys []string) (ids []pending.ID, faults []error) {
	s.t.Helper()
	s.accept("first") // connects
	tx, err := s.conn.Begin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := tx.Exec(s.t.Context(), `LOCK TABLE conch.intents IN EXCLUSIVE MODE`); err != nil {
		s.t.Fatal(err)
	}
	ids, faults = make([]pending.ID, len(keys)), make([]error, len(keys))
	var callers sync.WaitGroup
	for i, key := range keys {
		callers.Go(func() {
			in, err := s.Accept(s.t.Context(), pending.Intent{Account: pendingtest.Account, Key: key, Call: chain.Call{Gas: 1}})
			ids[i], faults[i] = in.ID, err
		})
		if i == 0 {
			s.blocked()
		}
	}
	for deadline := time.Now().Add(30 * time.Second); s.InIntake() < len(keys)-1; {
		if _, err := tx.Exec(s.t.Context(), `SELECT 1`); err != nil || time.Now().After(deadline) {
			s.t.Fatalf("%d callers wait, error %v; want %d", s.InIntake(), err, len(keys)-1)
		}
	}
	if err := tx.Rollback(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	pgtest.Within(s.t, time.Minute, "all callers are answered", callers.Wait)
	return ids, faults
}

// blocked returns once a session waits for a lock.
func (s shelf) blocked() {
	s.t.Helper()
	watch := s.db.Connect(s.t)
	for deadline := time.Now().Add(30 * time.Second); ; {
		var waits bool
		err := watch.QueryRow(s.t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&waits)
		if err != nil || time.Now().After(deadline) {
			s.t.Fatalf("no session waits for a lock, error %v", err)
		}
		if waits {
			return
		}
	}
}

// commits returns the number of transactions that have written the intents.
func (s shelf) commits() (n int) {
	s.t.Helper()
	if err := s.conn.QueryRow(s.t.Context(), `SELECT count(DISTINCT xmin::text) FROM conch.intents`).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// Callers that come while a statement is under way share the next one: ninety take a few commits.
// Those with the same key get one intent.
func TestAcceptTogether(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	var keys []string
	for i := range 90 {
		keys = append(keys, fmt.Sprint(i/3))
	}
	ids, faults := s.together(keys)
	for i, id := range ids {
		if faults[i] != nil || id != ids[i/3*3] || id == (pending.ID{}) {
			t.Errorf("caller %d: got ID %x, error %v; want %x", i, id, faults[i], ids[i/3*3])
		}
	}
	if n := s.count("intents"); n != 31 {
		t.Errorf("%d intents are stored, want 31", n)
	}
	if n := s.commits(); n != 3 { // the first, the one that was under way, and all others
		t.Errorf("31 intents took %d commits, want 3", n)
	}
}

// An intent that the database refuses fails alone.
func TestARefusedIntentFailsAlone(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	ids, faults := s.together([]string{"a", "b", "\x00", "c"})
	var refused *pgconn.PgError
	for i := range ids {
		if i == 2 != errors.As(faults[i], &refused) || i != 2 && faults[i] != nil {
			t.Errorf("caller %d: got error %v, want one for caller 2 alone", i, faults[i])
		}
	}
	if n := s.count("intents"); n != 4 {
		t.Errorf("%d intents are stored, want 4", n)
	}
}
