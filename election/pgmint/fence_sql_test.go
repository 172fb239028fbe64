package pgmint_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
)

// A term works as an argument and as a column of database/sql, which does not know pgx's types.
func TestFenceThroughDatabaseSQL(t *testing.T) {
	t.Parallel()
	db, m, a, old := setup(t)
	pool, err := sql.Open("pgx", db.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	ctx := t.Context()
	fenced := func(token fence.Token) error {
		tx, err := pool.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(ctx, pgfence.SQL, token.Scope, token.Epoch, token.Term); err != nil {
			return err
		}
		return tx.Commit()
	}
	if err := fenced(old); err != nil {
		t.Errorf("fence with the current token: %v", err)
	}
	current := depose(t, db, a, candidate(t, m, "b", unhurried, mint.Strict))
	for _, column := range []string{"term", "term::text", "uuid_send(term)"} {
		var term fence.Term
		if err := pool.QueryRowContext(ctx, `SELECT `+column+` FROM conch.leadership WHERE scope = $1 AND term = $2`, "s", current.Term).Scan(&term); err != nil || term != current.Term {
			t.Errorf("got the %s %s, %v, want %s", column, term, err, current.Term)
		}
	}
	if err := fenced(current); err != nil {
		t.Errorf("fence with the current token: %v", err)
	}
	forged := current
	forged.Term[0] ^= 1
	for name, token := range map[string]fence.Token{"old": old, "forged": forged} {
		if err := fenced(token); errors.Is(err, fence.ErrStale) || !errors.Is(pgfence.Stale(err), fence.ErrStale) {
			t.Errorf("fence with the %s token: got %v, want an error that Stale turns into ErrStale", name, err)
		}
	}
}

// A term works with pgx too, in each of its modes.
func TestATermThroughPgx(t *testing.T) {
	t.Parallel()
	db, _, _, token := setup(t)
	app := db.Connect(t)
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		if _, err := app.Exec(t.Context(), pgfence.SQL, mode, token.Scope, token.Epoch, token.Term); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		var term, bare fence.Term
		err := app.QueryRow(t.Context(), `SELECT term, term FROM conch.leadership WHERE term = $1`, mode, token.Term).Scan(&term, (*[16]byte)(&bare))
		if err != nil || term != token.Term || bare != token.Term {
			t.Errorf("%s: got %s and %s, %v, want %s", mode, term, bare, err, token.Term)
		}
	}
}

// state is an error of another driver, which has only a SQLSTATE.
type state string

func (s state) Error() string    { return "pq: refused" }
func (s state) SQLState() string { return string(s) }

// Stale knows the refusal of the fence by its SQLSTATE, from any driver and inside any error.
func TestStaleKnowsEveryDriver(t *testing.T) {
	t.Parallel()
	const stale, aborted = state(pgfence.CodeStale), state("25P02")
	for name, err := range map[string]error{
		"bare": stale, "wrapped": fmt.Errorf("paying: %w", stale), "beside another": errors.Join(aborted, fmt.Errorf("paying: %w", stale)),
		"behind another": fmt.Errorf("%w: %w", aborted, stale),
	} {
		if got := pgfence.Stale(err); !errors.Is(got, fence.ErrStale) || !errors.Is(got, stale) {
			t.Errorf("%s: got %v, want ErrStale", name, got)
		}
	}
	for _, err := range []error{nil, aborted, errors.New("SQLSTATE CN001"), fmt.Errorf("paying: %w", aborted)} {
		if got := pgfence.Stale(err); got != err { //nolint:errorlint // the very same
			t.Errorf("Stale turned %v into %v, want it unchanged", err, got)
		}
	}
}

// TransactSQL commits only with the current token, and not if f fails or panics. The connection goes
// back to the pool without a transaction.
func TestTransactSQL(t *testing.T) {
	t.Parallel()
	db, m, a, old := setup(t)
	current := depose(t, db, a, candidate(t, m, "b", unhurried, mint.Strict))
	run(t, db.Connect(t), `CREATE TABLE public.written (what text)`)
	pool, err := sql.Open("pgx", db.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	pool.SetMaxOpenConns(1)
	broken := errors.New("broken")
	transact := func(token fence.Token, what string, then func() error) (err error) {
		defer func() {
			if recover() != nil {
				err = errors.Join(err, broken)
			}
		}()
		return pgfence.TransactSQL(t.Context(), pool, nil, token, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(t.Context(), `INSERT INTO public.written VALUES ($1)`, what); err != nil {
				return err
			}
			return then()
		})
	}
	fine := func() error { return nil }
	if err := transact(old, "by the old token", fine); !errors.Is(err, fence.ErrStale) {
		t.Errorf("with the old token: got %v, want ErrStale", err)
	}
	if err := transact(current, "and failed", func() error { return broken }); err != broken { //nolint:errorlint // the very same
		t.Errorf("f failed: got %v, want its error", err)
	}
	if err := transact(current, "and panicked", func() error { panic(broken) }); !errors.Is(err, broken) {
		t.Errorf("f panicked: got %v, want the panic to reach the caller", err)
	}
	if err := transact(current, "by the current token", fine); err != nil {
		t.Errorf("the current token: %v", err)
	}
	var written string
	if err := pool.QueryRowContext(t.Context(), `SELECT string_agg(what, ', ') FROM public.written`).Scan(&written); err != nil || written != "by the current token" {
		t.Errorf("got the rows %q, %v, want only that of the current token", written, err)
	}
}
