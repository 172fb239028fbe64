package pgmint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/conchhq/conch/election/internal/minttest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// No reason and no actor makes a farewell fail, in a database of any encoding (R7).
func TestNothingSaidFailsAWrite(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"UTF8", "LATIN1", "SQL_ASCII"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			db := pgtest.Empty(t, encoding)
			c := pgtest.Connect(t, pg.Config{URL: db.URL})
			if err := pgmint.Tables.Up(t.Context(), c, nil); err != nil {
				t.Fatal(err)
			}
			a := candidate(t, newMint(t, db.URL), "a", unhurried, mint.Strict)
			for _, word := range minttest.Strange {
				other := lead(t, a, "other", unhurried)
				got := parts(t, a, mint.Farewell{Token: lead(t, a, "s", unhurried), Released: true, Reason: word, Actor: word},
					mint.Farewell{Token: other, Released: true})
				if got[0].Outcome != mint.Said || got[1].Outcome != mint.Said {
					t.Errorf("%.40q: got %+v, want Said twice", word, got)
				}
			}
			if long := text(t, c, `SELECT max(length(reason))::text FROM conch.leadership_history`); len(long) > 4 {
				t.Errorf("got a reason of %s characters in the history, want at most 9999", long)
			}
		})
	}
}

// If the database's encoding cannot represent a name, Open refuses an id and a bid a scope. All other
// scopes can be led.
func TestNamesThatTheEncodingDoesNotHave(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t, "LATIN1")
	if err := pgmint.Tables.Up(t.Context(), db.Connect(t), nil); err != nil {
		t.Fatal(err)
	}
	m := newMint(t, db.URL)
	_, err := m.Open(t.Context(), mint.Candidate{ID: "→", Lease: unhurried, Longest: unhurried, Takeover: mint.Strict, Scopes: []string{"s"}})
	if !errors.Is(err, mint.ErrBarred) || !strings.Contains(err.Error(), "LATIN1") {
		t.Errorf("an instance id that the encoding does not have: got %v, want ErrBarred with the encoding", err)
	}
	s, err := m.Open(t.Context(), mint.Candidate{ID: "für", Lease: unhurried, Longest: unhurried, Takeover: mint.Strict, Scopes: []string{"s", "ü", "→"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	lead(t, s, "ü", unhurried)
	if _, err := s.Try(t.Context(), []mint.Bid{{Scope: "→", Lease: unhurried}}); err == nil || errors.Is(err, mint.ErrSessionLost) {
		t.Errorf("a scope that the encoding does not have: got %v, want an error that is not ErrSessionLost", err)
	}
	lead(t, s, "s", unhurried)
	if got := text(t, db.Connect(t), `SELECT array_to_string(scopes, ',') FROM conch.process WHERE id = 'für'`); got != "s,ü" {
		t.Errorf("got the registered scopes %q, want s and ü", got)
	}
}
