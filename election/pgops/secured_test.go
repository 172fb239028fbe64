package pgops_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Row-level security hides rows, so no leadership seemed to exist. It is one error that says so, also in a fence, whose
// owner sees no row either once it is forced.
func TestRowSecurityIsNamed(t *testing.T) {
	t.Parallel()
	c := granted(t)
	admin := c.DB.Connect(t)
	a := candidate(t, newMint(t, c.As(t, c.Node)), "a", unhurried, mint.Strict)
	token := lead(t, a, "s", unhurried)
	o := observe(t, c.As(t, c.Observer))
	run(t, admin, `ALTER TABLE conch.schema_version ENABLE ROW LEVEL SECURITY`)
	said := func(what string, err error) {
		t.Helper()
		if text := pgmint.Sentence(err); !strings.Contains(text, "row-level security is on") || !strings.Contains(text, "DISABLE ROW LEVEL SECURITY") {
			t.Errorf("%s: got %q, want it to name row-level security", what, text)
		}
	}
	said("check", pgmint.Check(t.Context(), pgmint.Config{URL: c.As(t, c.Node)}))
	run(t, admin, `ALTER TABLE conch.leadership ENABLE ROW LEVEL SECURITY`)
	_, err := o.Scopes(t.Context(), "")
	said("status", err)
	_, err = a.Try(t.Context(), []mint.Bid{{Scope: "t", Lease: unhurried}})
	said("bid", err)

	owner := c.DB.Name + "_owner"
	run(t, admin, `CREATE ROLE `+owner)
	run(t, admin, `GRANT USAGE ON SCHEMA conch TO `+owner)
	run(t, admin, `ALTER TABLE conch.leadership OWNER TO `+owner)
	for _, function := range []string{`fence(text, bigint, uuid)`, `fence_closely(text, bigint, uuid)`, `system_id()`, `timeline()`, `fence_key(text)`} {
		run(t, admin, `ALTER FUNCTION conch.`+function+` OWNER TO `+owner)
	}
	run(t, admin, `GRANT EXECUTE ON FUNCTION pg_control_system(), pg_walfile_name(pg_lsn), pg_current_wal_lsn() TO `+owner)
	run(t, admin, `ALTER TABLE conch.leadership FORCE ROW LEVEL SECURITY`)
	err = pgx.BeginFunc(t.Context(), pgtest.Connect(t, pg.Config{URL: c.As(t, c.Fence)}), func(tx pgx.Tx) error { return pgfence.Fence(t.Context(), tx, token) })
	said("fence", err)
}
