package pgmint_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
)

// Of database/sql: what is written commits while its token is the current one.
func ExampleStale() { //nolint:testableexamples // it shows how, and has no database
	pay := func(ctx context.Context, db *sql.DB, token fence.Token, amount int) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // nothing after the commit
		if _, err := tx.ExecContext(ctx, `INSERT INTO payments (amount) VALUES ($1)`, amount); err != nil {
			return err
		}
		// The fence is the last statement before the commit.
		if _, err := tx.ExecContext(ctx, pgmint.FenceSQL, token.Scope, token.Epoch, token.Term); err != nil {
			return pgmint.Stale(err) // fence.ErrStale: somebody else leads, so do not try again
		}
		return pgmint.Stale(tx.Commit())
	}
	_ = pay
}

// database/sql knows nothing of pgx's types: a term is an argument and a column of it as it is.
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
		if _, err := tx.ExecContext(ctx, pgmint.FenceSQL, token.Scope, token.Epoch, token.Term); err != nil {
			return err
		}
		return tx.Commit()
	}
	if err := fenced(old); err != nil {
		t.Errorf("with the current token: %v", err)
	}
	current := depose(t, db, a, candidate(t, m, "b", unhurried, election.Strict))
	for _, column := range []string{"term", "term::text", "uuid_send(term)"} {
		var term fence.Term
		if err := pool.QueryRowContext(ctx, `SELECT `+column+` FROM conch.leadership WHERE scope = $1 AND term = $2`, "s", current.Term).Scan(&term); err != nil || term != current.Term {
			t.Errorf("%s is %s, %v, want %s", column, term, err, current.Term)
		}
	}
	if err := fenced(current); err != nil {
		t.Errorf("with the current token: %v", err)
	}
	forged := current
	forged.Term[0] ^= 1
	for name, token := range map[string]fence.Token{"old": old, "forged": forged} {
		if err := fenced(token); errors.Is(err, fence.ErrStale) || !errors.Is(pgmint.Stale(err), fence.ErrStale) {
			t.Errorf("with the %s token: %v", name, err)
		}
	}
}

// And pgx takes it as it is too, however it sends its arguments.
func TestATermThroughPgx(t *testing.T) {
	t.Parallel()
	db, _, _, token := setup(t)
	app := db.Connect(t)
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		if _, err := app.Exec(t.Context(), pgmint.FenceSQL, mode, token.Scope, token.Epoch, token.Term); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		var term, bare fence.Term
		err := app.QueryRow(t.Context(), `SELECT term, term FROM conch.leadership WHERE term = $1`, mode, token.Term).Scan(&term, (*[16]byte)(&bare))
		if err != nil || term != token.Term || bare != token.Term {
			t.Errorf("%s: %s and %s, %v, want %s", mode, term, bare, err, token.Term)
		}
	}
}

// state is an error of another driver, of which only its SQLSTATE is known.
type state string

func (s state) Error() string    { return "pq: refused" }
func (s state) SQLState() string { return string(s) }

// The fence's refusal is known by its SQLSTATE, from any driver and inside any other error.
func TestStaleKnowsEveryDriver(t *testing.T) {
	t.Parallel()
	const stale, aborted = state(pgmint.CodeStale), state("25P02")
	for name, err := range map[string]error{
		"bare": stale, "wrapped": fmt.Errorf("paying: %w", stale), "beside another": errors.Join(aborted, fmt.Errorf("paying: %w", stale)),
		"behind another": fmt.Errorf("%w: %w", aborted, stale),
	} {
		if got := pgmint.Stale(err); !errors.Is(got, fence.ErrStale) || !errors.Is(got, stale) {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, err := range []error{nil, aborted, errors.New("SQLSTATE CN001"), fmt.Errorf("paying: %w", aborted)} {
		if got := pgmint.Stale(err); got != err { //nolint:errorlint // the very same
			t.Errorf("%v became %v", err, got)
		}
	}
}
