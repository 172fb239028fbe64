package pgmint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Above READ COMMITTED a snapshot may be older than the term. The fence never calls a current token
// stale: it asks to begin the transaction again (R4).
func TestFenceWithAnOldSnapshot(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			db, m, a, first := setup(t)
			b := candidate(t, m, "b", unhurried, mint.Strict)
			run(t, db.Connect(t), `CREATE TABLE work (n int)`)
			old := func() pgx.Tx {
				t.Helper()
				tx, err := db.Connect(t).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
				if err == nil {
					_, err = tx.Exec(t.Context(), `INSERT INTO work VALUES (1)`) // takes the snapshot
				}
				if err != nil {
					t.Fatal(err)
				}
				return tx
			}
			want := func(what string, err error, code string) {
				t.Helper()
				if pg.Code(err) != code || errors.Is(err, fence.ErrStale) != (code == pgfence.CodeStale) {
					t.Errorf("%s: got %v, want SQLSTATE %q", what, err, code)
				}
			}
			fenced := func(tx pgx.Tx, token fence.Token) error {
				t.Helper()
				if err := pgfence.Fence(t.Context(), tx, token); err != nil {
					return err
				}
				return tx.Commit(t.Context())
			}
			want("a current token", fenced(old(), first), "")
			before, parted, again := old(), old(), old()
			parts(t, a, mint.Farewell{Token: first, Released: true})
			want("given up since", fenced(parted, first), "40001")
			second := lead(t, b, "s", unhurried)
			want("minted since", fenced(before, second), "40001")
			want("over since", fenced(again, first), "40001")
			want("begun again", fenced(old(), second), "")
			want("over before", fenced(old(), first), pgfence.CodeStale)
			forged := second
			forged.Epoch++
			want("an epoch yet to come", fenced(old(), forged), pgfence.CodeStale)

			unseen := old()
			recent := lead(t, a, "new", unhurried)
			want("led for the first time since", fenced(unseen, recent), "40001")
			want("and begun again", fenced(old(), recent), "")
			for _, scope := range []string{"never led", ""} {
				want("never led", fenced(old(), fence.Token{Scope: scope, Epoch: 1}), pgfence.CodeStale)
			}
		})
	}
}

// A fence above READ COMMITTED keeps the mint out until the commit, but locks the row only briefly.
func TestFenceSharesForAnInstant(t *testing.T) {
	t.Parallel()
	db, m, a, token := setup(t)
	tx, err := db.Connect(t).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.Serializable})
	if err == nil {
		err = pgfence.Fence(t.Context(), tx, token)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Connect(t).Exec(t.Context(), `SELECT FROM conch.leadership WHERE scope = 's' FOR UPDATE NOWAIT`); err != nil {
		t.Errorf("the row is locked by a fence that has returned: %v", err)
	}
	unlockAll(t, db, a)
	b := candidate(t, m, "b", unhurried, mint.Strict)
	if r := bid(t, b, mint.Bid{Scope: "s", Lease: unhurried}); r.Outcome != mint.Busy {
		t.Errorf("a bid beside the fence: got %+v, want Busy", r)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := bid(t, b, mint.Bid{Scope: "s", Lease: unhurried}); r.Outcome != mint.Won {
		t.Errorf("a bid after the commit: got %+v, want Won", r)
	}
}

// Above READ COMMITTED the fence locks the newest row, which a READ ONLY transaction may not: it says so. A token that is
// surely over is refused all the same, and in READ COMMITTED nothing has to be locked.
func TestFenceInAReadOnlyTransaction(t *testing.T) {
	t.Parallel()
	db, _, a, first := setup(t)
	fenced := func(level pgx.TxIsoLevel, token fence.Token) error {
		t.Helper()
		tx, err := db.Connect(t).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level, AccessMode: pgx.ReadOnly})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		return pgfence.Fence(t.Context(), tx, token)
	}
	if err := fenced(pgx.ReadCommitted, first); err != nil {
		t.Errorf("READ COMMITTED: got %v, want it to pass", err)
	}
	unknown := first
	unknown.Scope = "unknown"
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		for _, token := range []fence.Token{first, unknown} {
			sent, ok := errors.AsType[*pgconn.PgError](fenced(level, token))
			if !ok || sent.Code != "25006" || !strings.Contains(sent.Message, "READ ONLY") || !strings.Contains(sent.Hint, "needs no fence") {
				t.Errorf("%s, scope %s: got %v, want an error that says what to do", level, token.Scope, sent)
			}
		}
	}
	parts(t, a, mint.Farewell{Token: first, Released: true})
	if err := fenced(pgx.Serializable, first); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a token that is over: got %v, want ErrStale", err)
	}
}

// The INSERT that looks for an invisible row leaves no row.
func TestFenceOfAnUnknownScopeLeavesNoRow(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	tx, err := db.Connect(t).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	if err := pgfence.Fence(t.Context(), tx, fence.Token{Scope: "x", Epoch: 1}); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a scope that was never led: got %v, want ErrStale", err)
	}
	_ = tx.Rollback(t.Context())
	if n := text(t, db.Connect(t), `SELECT count(*)::text FROM conch.leadership`); n != "0" {
		t.Errorf("got %s rows, want none", n)
	}
}
