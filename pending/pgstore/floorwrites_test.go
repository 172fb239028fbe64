package pgstore_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// shelfWithFinal returns a shelf with slots from 0 on, of which those below a nonce are final.
func shelfWithFinal(t *testing.T, many, final uint64) shelf {
	t.Helper()
	s := openShelf(t)
	var b pending.Batch
	for i := range many {
		one := slotOf(i, pending.Intent{})
		one.Intent = nil
		b.New = append(b.New, one)
	}
	s.write(b)
	s.finalUpTo(final - 1)
	if got := s.floor(); got != final {
		t.Fatalf("the floor is %d, want %d", got, final)
	}
	return s
}

// Two writes at once: one takes back an end above the floor, and the other, which cannot see that yet, stores that all is
// final. Whichever ends first, a leader loads what is open.
func TestAFloorBetweenTwoWrites(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"the one that opens ends last", "the one that opens ends first", "the one that adds a slot ends last"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shelfWithFinal(t, 10, 3)
			s.write(changed(pending.Finalized, 5))
			tx, err := s.conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			do := func(sql string) {
				t.Helper()
				if _, err := tx.Exec(t.Context(), sql, []byte(pendingtest.Account)); err != nil {
					t.Fatal(err)
				}
			}
			watch := s
			watch.conn = s.db.Connect(t)
			rest := changed(pending.Finalized, 3, 4, 6, 7, 8, 9)
			const end = `SELECT conch.pending_floor('evm:1', $1, 5)`
			if name == "the one that adds a slot ends last" {
				do(`INSERT INTO conch.pending_transactions (chain, account, nonce, hash, since_block, creator) VALUES ('evm:1', $1, 10, 'h', 1, 'x')`)
				do(`INSERT INTO conch.pending_attempts (chain, account, nonce, n, hash, signed, gas, filler) VALUES ('evm:1', $1, 10, 1, 'h', 's', 1, true)`)
				watch.write(rest)
			} else {
				do(`UPDATE conch.pending_transactions SET final = false, state = 'future' WHERE account = $1 AND nonce = 5`)
			}
			switch name {
			case "the one that opens ends last":
				watch.write(rest)
				do(end)
			case "the one that opens ends first":
				do(end)
				rest.Account, rest.Number = pendingtest.Account, writes.Add(1)
				ended := make(chan error, 1)
				go func() { ended <- s.Write(t.Context(), current, rest) }()
				pgtest.Eventually(t, 20*time.Second, "the other write waits", func() bool {
					var waits bool
					err := watch.conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = current_database())`).Scan(&waits)
					return err == nil && waits || len(ended) > 0
				})
				defer func() {
					if err := wait(t, ended); err != nil {
						t.Error(err)
					}
					watch.loadsWhatIsOpen("both writes have ended")
				}()
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if name != "the one that opens ends first" {
				watch.loadsWhatIsOpen("both writes have ended")
			}
		})
	}
}

// A transaction that sees an old snapshot raises no floor.
func TestAnOldSnapshotRaisesNoFloor(t *testing.T) {
	t.Parallel()
	s := shelfWithFinal(t, 10, 3)
	s.write(changed(pending.Finalized, 3, 4, 5))
	run(t, s.conn, `UPDATE conch.pending_floors SET nonce = 3`)
	other := s.db.Connect(t)
	run(t, other, `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM conch.pending_transactions`)
	s.opened(5)
	run(t, other, `SELECT conch.pending_floor(chain, account, 9) FROM conch.pending_accounts; COMMIT`)
	s.loadsWhatIsOpen("an old snapshot was used")
}

// A write lowers the floor also by what it says itself: its trigger may have looked before another write raised it.
func TestAWriteSaysWhatItOpens(t *testing.T) {
	t.Parallel()
	s := shelfWithFinal(t, 10, 8)
	run(t, s.conn, `ALTER TABLE conch.pending_transactions DISABLE TRIGGER pending_update`)
	s.write(changed(pending.InBlock, 3, 6))
	s.loadsWhatIsOpen("two ends are taken back")
}
