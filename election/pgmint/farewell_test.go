package pgmint_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// released reads from the history how often and why a scope was given up.
func released(t *testing.T, c *pgx.Conn, scope string) string {
	t.Helper()
	return text(t, c, `SELECT coalesce(string_agg(event || ' ' || reason, '; ' ORDER BY id), '') FROM conch.leadership_history
		WHERE scope = $1 AND event NOT IN ('acquired', 'evicted')`, scope)
}

// A farewell waits neither for transactions past the fence, at any isolation level, nor for a locked
// row, which concerns only its scope. That scope keeps its lock until its farewell is said (R1, R3, R11).
func TestAFarewellWaitsForNobody(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T) {
		t.Helper()
		db := pgtest.New(t)
		m := newMint(t, db.URL)
		a := candidate(t, m, "a", unhurried, mint.Strict)
		c := db.Connect(t)
		var farewells []mint.Farewell
		begin := func(level pgx.TxIsoLevel) pgx.Tx {
			tx, err := db.Connect(t).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
			if err != nil {
				t.Fatal(err)
			}
			return tx
		}
		for scope, level := range map[string]pgx.TxIsoLevel{"s": pgx.Serializable, "rr": pgx.RepeatableRead, "rc": pgx.ReadCommitted} {
			token := lead(t, a, scope, unhurried)
			if err := pgfence.Fence(t.Context(), begin(level), token); err != nil { // and does not end
				t.Fatal(err)
			}
			farewells = append(farewells, mint.Farewell{Token: token, Released: true, Reason: "bye"})
		}
		locked := lead(t, a, "locked", unhurried)
		stranger := begin(pgx.ReadCommitted)
		if _, err := stranger.Exec(t.Context(), `SELECT FROM conch.leadership WHERE scope = 'locked' FOR SHARE`); err != nil {
			t.Fatal(err)
		}
		last := mint.Farewell{Token: locked, Released: true, Reason: "bye"}
		answers := parts(t, a, append(farewells, last)...)
		for i, f := range farewells {
			if answers[i].Outcome != mint.Said || released(t, c, f.Token.Scope) != "released bye" {
				t.Errorf("%s: got %+v and the history %q, want Said and released", f.Token.Scope, answers[i], released(t, c, f.Token.Scope))
			}
		}
		if got := answers[len(farewells)]; got.Outcome != mint.Locked || !strings.Contains(got.By, "(conch-test)") || !strings.Contains(got.By, "pg_terminate_backend(") {
			t.Errorf("the scope with a locked row: got %+v, want Locked and by whom", got)
		}
		held := `SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND granted AND ` + here + `
			AND (classid::bigint << 32) | objid::bigint = conch.lock_key('locked')`
		if !strings.HasSuffix(t.Name(), byProcessName) && text(t, c, held) != "1" {
			t.Error("the lock of a scope that is not given up was freed")
		}
		if err := stranger.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := parts(t, a, last)[0]; got.Outcome != mint.Said {
			t.Errorf("no longer locked: got %+v, want Said", got)
		}
		if text(t, c, held) != "0" {
			t.Error("the lock of a scope that was given up is held")
		}
	})
}

// Many rows are locked at once. Each farewell is answered, and only the first three name the locker,
// since that reads all locks of the server.
func TestManyLockedFarewells(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	a := candidate(t, newMint(t, db.URL), "a", unhurried, mint.Strict)
	var farewells []mint.Farewell
	for _, scope := range []string{"s1", "s2", "s3", "s4", "s5"} {
		farewells = append(farewells, mint.Farewell{Token: lead(t, a, scope, unhurried), Released: true})
	}
	stranger, err := db.Connect(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Exec(t.Context(), `SELECT FROM conch.leadership FOR SHARE`); err != nil {
		t.Fatal(err)
	}
	for i, p := range parts(t, a, farewells...) {
		if p.Outcome != mint.Locked || (i < 3) != strings.Contains(p.By, "pg_terminate_backend(") {
			t.Errorf("farewell %d: got %+v, want Locked, and by whom for the first three", i, p)
		}
	}
}

// A farewell whose answer was lost is repeated, which changes nothing (R9).
func TestAFarewellSaidTwice(t *testing.T) {
	t.Parallel()
	db, m, a, token := setup(t)
	ear, c := db.Connect(t), db.Connect(t)
	run(t, ear, `LISTEN conch_leader_change`)
	f := mint.Farewell{Token: token, Reason: "drain timed out"}
	late := mint.Farewell{Token: token, Released: true, Reason: "the acts have ended"}
	for _, f := range []mint.Farewell{f, f, late, late, f} {
		if got := parts(t, a, f)[0]; got.Outcome != mint.Said {
			t.Errorf("got %+v, want Said", got)
		}
	}
	if got := released(t, c, "s"); got != "lost drain timed out; released the acts have ended" {
		t.Errorf("got the history %q, want the loss and then the release, once each", got)
	}
	run(t, c, `NOTIFY conch_leader_change, 'the end'`)
	var heard []string
	for len(heard) == 0 || heard[len(heard)-1] != "the end" {
		n, err := ear.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		heard = append(heard, n.Payload)
	}
	if len(heard) > 3 {
		t.Errorf("got the notifications %q, want at most two before the end", heard)
	}
	r := bid(t, candidate(t, m, "b", unhurried, mint.Strict), mint.Bid{Scope: "s", Lease: unhurried})
	if r.Outcome != mint.Won || r.Hold != 0 {
		t.Errorf("a bid after the late release: got %+v, want Won without a hold", r)
	}
	if got := parts(t, a, late)[0]; got.Outcome != mint.Over {
		t.Errorf("after the next term: got %+v, want Over", got)
	}
}

// A farewell does not free the lock of a later term that its session has won (R6).
func TestAFarewellUnlocksItsOwn(t *testing.T) {
	t.Parallel()
	db, m, a, first := setup(t)
	second := lead(t, a, "s", unhurried)
	if got := parts(t, a, mint.Farewell{Token: first, Released: true})[0]; got.Outcome != mint.Over {
		t.Errorf("the farewell of the term before: got %+v, want Over", got)
	}
	if got := text(t, db.Connect(t), `SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND granted AND `+here+`
			AND (classid::bigint << 32) | objid::bigint = conch.lock_key('s')`); got != "1" {
		t.Errorf("the lock of the current term is held %s times, want once", got)
	}
	if r := bid(t, candidate(t, m, "b", unhurried, mint.Strict), mint.Bid{Scope: "s", Lease: unhurried}); r.Outcome != mint.Held {
		t.Errorf("a bid beside the current term: got %+v, want Held", r)
	}
	if got := parts(t, a, mint.Farewell{Token: second, Released: true})[0]; got.Outcome != mint.Said {
		t.Errorf("the farewell of the current term: got %+v, want Said", got)
	}
}

// A locked row of conch.process, which needs a tombstone, keeps only the scopes of that process from
// being given up and taken.
func TestALockedProcessKeepsItsScopesAlone(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T) {
		t.Helper()
		db := pgtest.New(t)
		m := newMint(t, db.URL)
		old, again := candidate(t, m, "a", unhurried, mint.Strict), candidate(t, m, "a", unhurried, mint.Strict)
		lost, taken := lead(t, old, "lost", unhurried), lead(t, old, "taken", unhurried)
		own := lead(t, again, "own", unhurried)
		stranger, err := db.Connect(t).Begin(t.Context())
		if err == nil {
			_, err = stranger.Exec(t.Context(), `SELECT FROM conch.process WHERE process_key = $1 FOR UPDATE`, old.Process())
		}
		if err != nil {
			t.Fatal(err)
		}
		unlockAll(t, db, old)
		farewells := []mint.Farewell{{Token: lost, Released: true}, {Token: own, Released: true}}
		if got := parts(t, again, farewells...); got[0].Outcome != mint.Locked || got[1].Outcome != mint.Said {
			t.Errorf("got %+v, want Locked and Said", got)
		}
		bids := []mint.Bid{{Scope: taken.Scope, Lease: unhurried}, {Scope: "fresh", Lease: unhurried}}
		got, err := again.Try(t.Context(), bids)
		if err != nil || got[0].Outcome != mint.Held || got[0].Process != 0 || got[1].Outcome != mint.Won {
			t.Errorf("got %+v, %v, want one scope held without a process and the other won", got, err)
		}
		if err := stranger.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := parts(t, again, farewells...); got[0].Outcome != mint.Said || got[1].Outcome != mint.Said {
			t.Errorf("no longer locked: got %+v, want Said twice", got)
		}
		if r := bid(t, again, bids[0]); r.Outcome != mint.Won {
			t.Errorf("no longer locked: got %+v, want Won", r)
		}
	})
}
