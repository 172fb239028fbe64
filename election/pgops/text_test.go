package pgops_test

import (
	"context"
	"errors"
	"testing"

	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// No name of an operator fails a request, its answer or an advance, in a database of any
// encoding (R7).
func TestNoNameFailsAnOperator(t *testing.T) {
	t.Parallel()
	encodings := runtest.ByDay([]string{"LATIN1"}, []string{"UTF8", "LATIN1", "SQL_ASCII"})
	for _, encoding := range encodings {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			cfg := pgmint.Config{URL: pgtest.Empty(t, encoding).URL}
			if err := pgmint.Up(t.Context(), cfg, nil); err != nil {
				t.Fatal(err)
			}
			a := candidate(t, newMint(t, cfg.URL), "a", unhurried, mint.Strict)
			token := lead(t, a, "s", unhurried)
			for _, word := range minttest.Strange {
				asking, stop := context.WithCancel(t.Context()) // nobody is there to answer
				_, err := pgops.Ask(asking, cfg, pgops.Request{Scope: "s", Actor: word}, func(string) { stop() })
				stop()
				if _, unanswered := errors.AsType[*pgops.UnansweredError](err); !unanswered {
					t.Errorf("asked by %.40q: got %v, want an UnansweredError", word, err)
				}
				if err := pgops.Advance(t.Context(), cfg, "s", token.Epoch+1, word); err != nil {
					t.Errorf("advanced by %.40q: %v", word, err)
				}
				token = lead(t, a, "s", unhurried)
			}
		})
	}
}
