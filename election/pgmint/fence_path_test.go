package pgmint_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/runtest"
)

// The fence runs as the owner of the tables and sets no search_path, which would cost as much as all the
// rest. The caller's path has a trap for each operator and function that it uses, and it springs none.
func TestFenceUnderAHostilePath(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, _, _, token := setup(t)
	admin := db.Connect(t)
	run(t, admin, `CREATE SCHEMA evil`)
	trap := func(name string, args ...string) {
		list := ""
		for i, arg := range args {
			list += []string{"", ", "}[min(i, 1)] + "pg_catalog." + arg
		}
		run(t, admin, fmt.Sprintf(`CREATE FUNCTION evil.%s(%s) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'sprung: %s'; END $$`, name, list, name))
	}
	for i, op := range []string{"=", "<>", ">", "*"} {
		for _, kind := range []string{"text", "int8", "int4", "uuid", "float8"} {
			name := fmt.Sprintf("op_%d_%s", i, kind)
			trap(name, kind, kind)
			run(t, admin, fmt.Sprintf(`CREATE OPERATOR evil.%s (FUNCTION = evil.%s, LEFTARG = pg_catalog.%s, RIGHTARG = pg_catalog.%s)`, op, name, kind, kind))
		}
	}
	trap("pg_advisory_xact_lock_shared", "int8")
	trap("hashtextextended", "text", "int8")
	trap("current_setting", "text")
	trap("set_config", "text", "text", "bool")
	trap("date_part", "text", "interval")
	trap("format", "text", "text", "int8")
	trap("substr", "text", "int4", "int4")
	trap("pg_walfile_name", "pg_lsn")
	trap("pg_current_wal_lsn")
	trap("pg_control_system")
	run(t, admin, `CREATE DOMAIN evil.text AS pg_catalog.int4`)
	run(t, admin, `CREATE DOMAIN evil.uuid AS pg_catalog.int4`)
	run(t, admin, `CREATE DOMAIN evil.interval AS pg_catalog.int4`)

	role := "app_" + db.Name
	run(t, admin, `CREATE ROLE `+role)
	t.Cleanup(func() {
		_, err := admin.Exec(context.Background(), `DROP OWNED BY `+role+`; DROP ROLE `+role)
		if err != nil {
			t.Error(err)
		}
	})
	run(t, admin, `GRANT USAGE ON SCHEMA conch, evil TO `+role)
	run(t, admin, `GRANT EXECUTE ON FUNCTION conch.fence(text, bigint, uuid) TO `+role)
	wrong := token
	wrong.Epoch++
	for _, idle := range []string{"0", "10min", "10ms"} {
		for _, level := range []string{"read committed", "repeatable read"} {
			app := db.Connect(t)
			run(t, app, `SET ROLE `+role)
			run(t, app, `SELECT set_config('idle_in_transaction_session_timeout', $1, false), set_config('default_transaction_isolation', $2, false)`, idle, level)
			run(t, app, `SET search_path = evil, pg_catalog`)
			if _, err := app.Exec(t.Context(), `SELECT 1 = 1`); pg.Code(err) != "P0001" {
				t.Fatalf("got %v, want a trap to be sprung", err)
			}
			for range 8 { // from the sixth call on Postgres keeps a plan
				if err := pgfence.Fence(t.Context(), app, token); err != nil {
					t.Errorf("idle %s, %s: %v", idle, level, err)
				}
			}
			if err := pgfence.Fence(t.Context(), app, wrong); !errors.Is(err, fence.ErrStale) {
				t.Errorf("a wrong epoch, idle %s, %s: got %v, want ErrStale", idle, level, err)
			}
		}
	}
}

// The fence limits how long the caller may idle to the lease, and leaves a shorter limit alone.
func TestFenceBoundsTheIdling(t *testing.T) {
	t.Parallel()
	db, _, _, token := setupFor(t, 30*time.Second) // with a short lease the server might end the transaction first
	for set, want := range map[string]string{"0": "30s", "10min": "30s", "29999": "29999ms", "30s": "30s", "30001ms": "30s"} {
		for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
			app := db.Connect(t)
			run(t, app, `SELECT set_config('idle_in_transaction_session_timeout', $1, false)`, set)
			tx, err := app.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
			if err != nil {
				t.Fatal(err)
			}
			if err := pgfence.Fence(t.Context(), tx, token); err != nil {
				t.Fatal(err)
			}
			var got string
			if err := tx.QueryRow(t.Context(), `SHOW idle_in_transaction_session_timeout`).Scan(&got); err != nil || got != want {
				t.Errorf("%s: a limit of %s became %s, want %s; error %v", level, set, got, want, err)
			}
			_ = tx.Rollback(t.Context())
		}
	}
}

// The plans of a session that is older than the promotion of its server must not keep the old timeline.
func TestFenceOfASessionThatSawThePromotion(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	primary := primaryServer(t)
	standby := replicaOf(t, primary, "later")
	old := takeovers(t, primary, 1)[0]
	standby.catchesUp(t, primary)

	app := database(standby.Server).Connect(t)
	for range 8 { // often enough for Postgres to keep a plan
		if err := pgfence.Fence(t.Context(), app, old); pg.Code(err) != "55000" {
			t.Fatalf("on a standby: got %v, want SQLSTATE 55000", err)
		}
	}
	primary.Kill9()
	standby.promote(t)
	for range 8 {
		if err := pgfence.Fence(t.Context(), app, old); !errors.Is(err, fence.ErrStale) {
			t.Fatalf("a token from before the promotion: got %v, want ErrStale", err)
		}
	}
	m := newMint(t, database(standby.Server).URL)
	current := lead(t, candidate(t, m, "next", 20*time.Second, mint.Strict), "s", 20*time.Second)
	for range 8 {
		if err := pgfence.Fence(t.Context(), app, current); err != nil {
			t.Fatal(err)
		}
	}
}
