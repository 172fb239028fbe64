package pgmint_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// overriding makes a mint with another lock key for the scope "s".
func overriding(t *testing.T, db *pgtest.DB, key int64) *pgmint.Mint {
	t.Helper()
	return mintWith(t, pgmint.Config{URL: db.URL, LockKeys: map[string]int64{"s": key}})
}

// S2: the lock key of a scope is the same in Go and in SQL, and in every version.
func TestLockKey(t *testing.T) {
	t.Parallel()
	const payments = 5637261023012900710 // first 8 bytes, big-endian, of SHA-256("conch:payments")
	if got := pgmint.LockKey("payments"); got != payments {
		t.Errorf("LockKey = %d, want %d", got, int64(payments))
	}
	c := pgtest.New(t).Connect(t)
	for _, scope := range []string{"payments", "storagehub:main:5F3s:msp-leader", "ключ", strings.Repeat("x", 200)} {
		var key, fenceKey int64
		if err := c.QueryRow(t.Context(), `SELECT conch.lock_key($1), conch.fence_key($1)`, scope).Scan(&key, &fenceKey); err != nil {
			t.Fatal(err)
		}
		if key != pgmint.LockKey(scope) || fenceKey == key {
			t.Errorf("%q: lock key %d in SQL and %d in Go, fence key %d; want the first two equal and the third different", scope, key, pgmint.LockKey(scope), fenceKey)
		}
	}
}

// S2, S27: a session locks the overriding key. A candidate with another key is refused and keeps no lock.
func TestLockKeyOverride(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	a := candidate(t, overriding(t, db, 4711), "a", 10*time.Second, mint.Strict)
	token := lead(t, a, "s", 10*time.Second)
	c := db.Connect(t)
	locked := func(key int64) (n int) {
		err := c.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND `+here+`
			AND (classid::bigint << 32) | objid::bigint = $1`, key).Scan(&n)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	if locked(4711) != 1 {
		t.Error("the overriding key is not locked")
	}
	b := candidate(t, newMint(t, db.URL), "b", 10*time.Second, mint.Strict)
	if r := bid(t, b, mint.Bid{Scope: "s", Lease: time.Second}); r.Outcome != mint.Refused || r.Why == nil || !strings.Contains(r.Why.Error(), "conch drain") {
		t.Errorf("a candidate with another key: got %+v, want Refused with advice to drain", r)
	}
	if locked(pgmint.LockKey("s")) != 0 {
		t.Error("the refused candidate keeps its lock")
	}
	if _, err := a.Release(t.Context(), []mint.Farewell{{Token: token, Released: true}}); err != nil {
		t.Fatal(err)
	}
	if locked(4711) != 0 {
		t.Error("a release leaves the overriding key locked")
	}
	// A released scope accepts any key, and then requires that one.
	if r := bid(t, b, mint.Bid{Scope: "s", Lease: time.Second}); r.Outcome != mint.Won || !r.Handoff || locked(pgmint.LockKey("s")) != 1 {
		t.Errorf("a candidate with another key, after the release: got %+v, want Won and its key locked", r)
	}
	if r := bid(t, a, mint.Bid{Scope: "s", Lease: time.Second}); r.Outcome != mint.Refused || locked(4711) != 0 {
		t.Errorf("a candidate with the key from before: got %+v, want Refused and its key free", r)
	}
	// After a crash the scope still requires its key.
	unlockAll(t, db, b)
	if r := bid(t, a, mint.Bid{Scope: "s", Lease: time.Second}); r.Outcome != mint.Refused {
		t.Errorf("a candidate with another key, after a crash: got %+v, want Refused", r)
	}
}

// A row that an operator made by advancing the epoch accepts any lock key.
func TestLockKeyOverrideAfterAdvance(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	advance(t, db.Connect(t), "s", 90)
	a := candidate(t, overriding(t, db, 4711), "a", 10*time.Second, mint.Strict)
	if r := bid(t, a, mint.Bid{Scope: "s", Lease: time.Second}); r.Outcome != mint.Won || r.Token.Epoch != 91 {
		t.Errorf("the bid: got %+v, want Won with epoch 91", r)
	}
}

// Two candidates with different lock keys bid at once for a released scope, and each gets its lock. The
// fence and the row let one of them win, and the other learns why it does not.
func TestTwoLockKeysAtOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	sessions := []mint.Session{
		candidate(t, overriding(t, db, 1), "a", unhurried, mint.Strict),
		candidate(t, overriding(t, db, 2), "b", unhurried, mint.Strict),
	}
	for round := range 20 {
		var both sync.WaitGroup
		var tokens [2]fence.Token
		start := make(chan struct{})
		for i, s := range sessions {
			both.Go(func() {
				<-start
				// With Block the bid waits for the fence, which the other may hold, and reads the row again.
				r, err := s.Try(t.Context(), []mint.Bid{{Scope: "s", Lease: unhurried, Block: unhurried}})
				if err != nil {
					t.Error(err)
					return
				}
				// Held, if the other won before this bid looked at the locks.
				if tokens[i] = r[0].Token; r[0].Outcome != mint.Won && r[0].Outcome != mint.Refused && r[0].Outcome != mint.Held {
					t.Errorf("round %d: got %+v, want Won, Refused or Held", round, r[0])
				}
			})
		}
		close(start)
		both.Wait()
		won := 0
		if tokens[0].Epoch == 0 {
			won = 1
		}
		if tokens[won].Epoch != int64(round+1) || tokens[1-won].Epoch != 0 {
			t.Fatalf("round %d: got the tokens %+v, want one, with the next epoch", round, tokens)
		}
		if r := bid(t, sessions[1-won], mint.Bid{Scope: "s", Lease: unhurried}); r.Outcome != mint.Refused || r.Why == nil {
			t.Fatalf("round %d: the loser's next bid: got %+v, want Refused with a reason", round, r)
		}
		if gone, err := sessions[won].Release(t.Context(), []mint.Farewell{{Token: tokens[won], Released: true}}); err != nil || gone[0].Outcome != mint.Said {
			t.Fatal(gone, err)
		}
	}
}

// A refusal says what helps: a drain if there is a leader, otherwise a candidate that agrees.
func TestARefusalSaysWhatHelps(t *testing.T) {
	t.Parallel()
	_, m, a, token := setup(t)
	b := candidate(t, m, "b", 10*time.Second, mint.Fast)
	refused := func(says string) {
		t.Helper()
		if r := bid(t, b, mint.Bid{Scope: "s", Lease: time.Second}); r.Why == nil || !strings.Contains(r.Why.Error(), says) {
			t.Errorf("got %v, because of %v, want a reason that helps", r.Outcome, r.Why)
		}
	}
	refused(`; release the scope (conch drain) before`)
	if _, err := a.Release(t.Context(), []mint.Farewell{{Token: token}}); err != nil { // without the promise
		t.Fatal(err)
	}
	refused(`its last leader did not release it`)
}
