package pgmint_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// depose ends the session of a and makes b the leader.
func depose(t testing.TB, db *pgtest.DB, a mint.Session, b mint.Session) fence.Token {
	t.Helper()
	unlockAll(t, db, a)
	return lead(t, b, "s", unhurried)
}

// The fence refuses a token that is not current, by epoch and by term, at every isolation level, even
// if the caller's snapshot is older than the mint.
func TestFenceRefusesStale(t *testing.T) {
	t.Parallel()
	for _, level := range []struct {
		name pgx.TxIsoLevel
		code string
	}{{pgx.ReadCommitted, pgfence.CodeStale}, {pgx.RepeatableRead, "40001"}, {pgx.Serializable, "40001"}} {
		t.Run(string(level.name), func(t *testing.T) {
			t.Parallel()
			db, m, a, old := setup(t)
			app := db.Connect(t)
			tx, err := app.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level.name})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), `SELECT 1`); err != nil { // takes the snapshot
				t.Fatal(err)
			}
			current := depose(t, db, a, candidate(t, m, "b", unhurried, mint.Strict))
			err = pgfence.Fence(t.Context(), tx, old)
			if pg.Code(err) != level.code {
				t.Errorf("fence with the old token: got %v, want SQLSTATE %s", err, level.code)
			}
			if level.code == pgfence.CodeStale && !errors.Is(err, fence.ErrStale) {
				t.Errorf("got %v, want ErrStale", err)
			}
			_ = tx.Rollback(t.Context())

			tx, err = app.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level.name})
			if err != nil {
				t.Fatal(err)
			}
			if err := pgfence.Fence(t.Context(), tx, current); err != nil {
				t.Errorf("fence with the current token: %v", err)
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Error(err)
			}
			wrong := current
			wrong.Term[0] ^= 1
			if err := pgfence.Fence(t.Context(), app, wrong); !errors.Is(err, fence.ErrStale) {
				t.Errorf("fence with another term: got %v, want ErrStale", err)
			}
			// The term may be left out, for example in psql.
			if _, err := app.Exec(t.Context(), `SELECT conch.fence('s', $1)`, current.Epoch); err != nil {
				t.Error(err)
			}
		})
	}
}

// A fence that has passed keeps every mint of its scope out until its transaction ends.
func TestFenceHoldsUntilCommit(t *testing.T) {
	t.Parallel()
	db, m, a, old := setup(t)
	app := db.Connect(t)
	run(t, app, `CREATE TABLE work (n int)`)
	tx, err := app.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO work VALUES (1)`); err != nil {
		t.Fatal(err)
	}
	if err := pgfence.Fence(t.Context(), tx, old); err != nil {
		t.Fatal(err)
	}
	unlockAll(t, db, a)
	b := candidate(t, m, "b", unhurried, mint.Strict)
	if r := bid(t, b, mint.Bid{Scope: "s", Lease: unhurried}); r.Outcome != mint.Busy {
		t.Fatalf("bid under an open fence: got %+v, want Busy", r)
	}
	// Other scopes can be won meanwhile.
	lead(t, b, "other", unhurried)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatalf("the fenced commit, which came first: %v", err)
	}
	if r := bid(t, b, mint.Bid{Scope: "s", Lease: unhurried}); r.Outcome != mint.Won {
		t.Fatalf("bid after the commit: got %+v, want Won", r)
	}
	if err := pgfence.Fence(t.Context(), app, old); !errors.Is(err, fence.ErrStale) {
		t.Fatalf("fence with the old token after the mint: got %v, want ErrStale", err)
	}
}

// The server ends a client that freezes after its fence, a lease later. What the client wrote is rolled
// back, and the successor wins without an eviction.
func TestFrozenFenceEndsItself(t *testing.T) {
	t.Parallel()
	db, m, a, old := setupFor(t, time.Second)
	app := db.Connect(t)
	run(t, app, `CREATE TABLE work (n int)`)
	tx, err := app.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = tx.Exec(t.Context(), `INSERT INTO work VALUES (1)`)
	if err := pgfence.Fence(t.Context(), tx, old); err != nil {
		t.Fatal(err)
	}
	unlockAll(t, db, a)
	b := candidate(t, m, "b", unhurried, mint.Strict)
	pgtest.Eventually(t, 10*time.Second, "the scope to be won", func() bool {
		return bid(t, b, mint.Bid{Scope: "s", Lease: unhurried, Block: 100 * time.Millisecond}).Outcome == mint.Won
	})
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("the frozen transaction committed after the successor was minted")
	}
	var n int
	if err := db.Connect(t).QueryRow(t.Context(), `SELECT count(*) FROM work`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows of the frozen transaction are left, %v", n, err)
	}
}

// A bid that may evict ends the transaction that holds the fence, and names it.
func TestEvictionNamesTheBlocker(t *testing.T) {
	t.Parallel()
	db, m, a, old := setup(t)
	app := db.Connect(t)
	tx, err := app.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := pgfence.Fence(t.Context(), tx, old); err != nil {
		t.Fatal(err)
	}
	const busy = `SELECT 'still at it'`
	if _, err := tx.Exec(t.Context(), busy); err != nil {
		t.Fatal(err)
	}
	pid := app.PgConn().PID()
	unlockAll(t, db, a)
	b := candidate(t, m, "b", unhurried, mint.Strict)
	var r, got mint.Result
	pgtest.Eventually(t, 10*time.Second, "the scope to be won", func() bool {
		got = bid(t, b, mint.Bid{Scope: "s", Lease: 100 * time.Millisecond, Block: 100 * time.Millisecond, Evict: true})
		if len(got.Blockers) > 0 {
			r = got
		}
		return got.Outcome == mint.Won
	})
	if len(r.Blockers) != 1 || r.Blockers[0].PID != int32(pid) || r.Blockers[0].Query != busy {
		t.Errorf("got the evictions %+v, want pid %d with its query", r.Blockers, pid)
	}
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("the evicted transaction committed")
	}
	// The history has one eviction, without the query, which is only for the log.
	var events string
	err = db.Connect(t).QueryRow(t.Context(), `SELECT string_agg(event || ' ' || epoch || ' ' || reason, '; ' ORDER BY epoch, event) FROM conch.leadership_history`).Scan(&events)
	want := fmt.Sprintf("acquired 1 first; evicted 1 ended for holding its fence: pid %d (conch-test); lost 1 its session ended without a farewell; acquired 2 takeover", pid)
	if err != nil || events != want {
		t.Errorf("got the history %q, %v; want %q", events, err, want)
	}
}

// The fence does not work inside a savepoint: a rollback to it drops the lock, and a stale commit
// succeeds. The documentation says so, and this test keeps it true.
func TestFenceInSavepointIsNoFence(t *testing.T) {
	t.Parallel()
	db, m, a, old := setup(t)
	app := db.Connect(t)
	run(t, app, `CREATE TABLE work (n int)`)
	tx, err := app.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{`INSERT INTO work VALUES (1)`, `SAVEPOINT x`} {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := pgfence.Fence(t.Context(), tx, old); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `ROLLBACK TO x`); err != nil {
		t.Fatal(err)
	}
	depose(t, db, a, candidate(t, m, "b", unhurried, mint.Strict))
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatalf("the commit was refused (%v): the documentation is out of date", err)
	}
}

// The fence works in a trigger that is deferred to the commit.
func TestFenceAsDeferredTrigger(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, m, a, old := setup(t)
	app := db.Connect(t)
	run(t, app, `CREATE TABLE work (n int, epoch bigint)`)
	run(t, app, `CREATE FUNCTION fenced() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM conch.fence('s', NEW.epoch); RETURN NULL; END $$`)
	run(t, app, `CREATE CONSTRAINT TRIGGER fenced AFTER INSERT ON work DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION fenced()`)
	run(t, app, `INSERT INTO work VALUES (1, $1)`, old.Epoch)
	tx, err := app.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO work VALUES (2, $1)`, old.Epoch); err != nil {
		t.Fatal(err)
	}
	depose(t, db, a, candidate(t, m, "b", unhurried, mint.Strict)) // the insert alone takes no lock
	if err := pgfence.Stale(tx.Commit(t.Context())); !errors.Is(err, fence.ErrStale) {
		t.Errorf("commit of a stale insert: got %v, want ErrStale", err)
	}
}

// The role of a fence needs EXECUTE on it and no other privilege (S29).
func TestFenceNeedsExecuteAlone(t *testing.T) {
	t.Parallel()
	db, _, _, token := setup(t)
	app := db.Connect(t)
	role := "app_" + db.Name
	run(t, app, `CREATE ROLE `+role)
	t.Cleanup(func() {
		c := pgtest.New(t).Connect(t)
		_, _ = c.Exec(t.Context(), `DROP ROLE `+role)
	})
	run(t, app, `GRANT USAGE ON SCHEMA conch TO `+role)
	run(t, app, `SET ROLE `+role)
	if err := pgfence.Fence(t.Context(), app, token); pg.Code(err) != "42501" {
		t.Errorf("without EXECUTE: got %v, want SQLSTATE 42501", err)
	}
	run(t, app, `RESET ROLE`)
	run(t, app, `GRANT EXECUTE ON FUNCTION conch.fence(text, bigint, uuid) TO `+role)
	run(t, app, `SET ROLE `+role)
	if err := pgfence.Fence(t.Context(), app, token); err != nil {
		t.Error(err)
	}
	if _, err := app.Exec(t.Context(), `SELECT * FROM conch.leadership`); pg.Code(err) != "42501" {
		t.Errorf("a read of the table with the role: got %v, want SQLSTATE 42501", err)
	}
	run(t, app, `RESET ROLE`)
	run(t, app, `DROP OWNED BY `+role)
}

// While 64 clients fence without pause, a mint gets the lock in the queue, long before it would have to
// evict a client. No stale transaction commits after the mint.
func TestTakeoverUnderFencingClients(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, m, a, old := setup(t)
	c := db.Connect(t)
	run(t, c, `CREATE TABLE work (id bigserial, epoch bigint)`)
	var wg sync.WaitGroup
	for range 64 {
		app := db.Connect(t)
		wg.Go(func() {
			for {
				b := &pgx.Batch{}
				b.Queue(`BEGIN`)
				b.Queue(`INSERT INTO work (epoch) VALUES ($1)`, old.Epoch)
				b.Queue(pgfence.SQL, old.Scope, old.Epoch, [16]byte(old.Term))
				b.Queue(`COMMIT`)
				if err := app.SendBatch(t.Context(), b).Close(); err != nil {
					if !errors.Is(pgfence.Stale(err), fence.ErrStale) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	pgtest.Eventually(t, 10*time.Second, "work to flow", func() bool {
		var n int
		return c.QueryRow(t.Context(), `SELECT count(*) FROM work`).Scan(&n) == nil && n > 500
	})
	unlockAll(t, db, a)
	b := candidate(t, m, "b", unhurried, mint.Strict)
	began := time.Now()
	tries := 0
	for {
		tries++
		r := bid(t, b, mint.Bid{Scope: "s", Lease: unhurried, Block: 500 * time.Millisecond})
		if r.Outcome == mint.Won {
			break
		}
		if tries > 10 {
			t.Fatalf("after %d tries in %s: got %+v, want Won", tries, time.Since(began), r)
		}
	}
	t.Logf("takeover under 64 fencing clients: %s, %d tries", time.Since(began), tries)
	count := func() (n int) {
		if err := c.QueryRow(t.Context(), `SELECT count(*) FROM work`).Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	atMint := count() // every transaction past the fence committed before the mint
	wg.Wait()         // each client ends once it is refused
	if late := count() - atMint; late != 0 {
		t.Errorf("%d stale rows were committed after the mint", late)
	}
}
