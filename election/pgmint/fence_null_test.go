package pgmint_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
)

// A comparison with NULL is neither true nor false, and the fence must not let it pass. It refuses
// every token without an epoch, also for unknown scopes.
func TestFenceRefusesNulls(t *testing.T) {
	t.Parallel()
	db, _, _, token := setup(t)
	app := db.Connect(t)
	run(t, app, `CREATE TABLE work (n int)`)
	term, other := any([16]byte(token.Term)), any([16]byte{7})
	tokens := map[string][]any{"the current one with another term": {"s", token.Epoch, other}}
	for _, scope := range []any{"s", "paymnts", nil} {
		for _, term := range []any{nil, term, other} {
			tokens[fmt.Sprint(scope, term)] = []any{scope, nil, term}
			if scope != any("s") {
				tokens[fmt.Sprint(scope, term, "epoch")] = []any{scope, token.Epoch, term}
			}
		}
	}
	for name, args := range tokens {
		for _, level := range []pgx.TxIsoLevel{pgx.ReadUncommitted, pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
			for _, sql := range []string{`SELECT conch.fence($1, $2, $3)`, `INSERT INTO work SELECT 1 FROM conch.fence($1, $2, $3)`} {
				tx, err := app.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Exec(t.Context(), sql, args...); pg.Code(err) != "CN001" {
					t.Errorf("%s, %s, %s: got %v, want CN001", name, level, sql, err)
				}
				if err := tx.Rollback(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	// The form without a term passes only with the current epoch.
	for sql, want := range map[string]string{
		`SELECT conch.fence('s', NULL)`: "CN001", `SELECT conch.fence(NULL, 1)`: "CN001",
		fmt.Sprintf(`SELECT conch.fence('s', %d)`, token.Epoch): "",
	} {
		if _, err := app.Exec(t.Context(), sql); pg.Code(err) != want {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
