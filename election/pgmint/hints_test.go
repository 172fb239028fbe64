package pgmint_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// From half full on the server's queue of notifications warns, and once full it refuses the commit that notifies. So
// a bid, a farewell and a request go on without a notification then.
func TestAFullQueueOfNotificationsStopsNobody(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	admin, ear := db.Connect(t), db.Connect(t)
	run(t, ear, `LISTEN conch_leader_change; LISTEN conch_command`)
	a := candidate(t, newMint(t, db.URL), "a", unhurried, mint.Strict)
	for i, step := range []struct {
		usage string
		want  int
	}{{"0.5", 0}, {"1", 0}, {"0.49", 3}} {
		tamper(t, admin, step.usage)
		scope := fmt.Sprintf("s%d", i)
		token := lead(t, a, scope, unhurried)
		parts(t, a, mint.Farewell{Token: token, Released: true})
		run(t, admin, `INSERT INTO conch.command (scope, epoch, verb, actor, timeout_ms) VALUES ($1, 1, 'drain', 'ops', 0)`, scope)
		run(t, admin, `SELECT pg_notify('conch_command', 'end')`) // comes after all that was sent before
		n := 0
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			got, err := ear.WaitForNotification(ctx)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			if got.Payload == "end" {
				break
			}
			n++
		}
		if n != step.want {
			t.Errorf("with a queue that is %s full: %d notifications were sent, want %d", step.usage, n, step.want)
		}
	}
}

// tamper makes the triggers believe how full the queue is: to fill it would take gigabytes.
func tamper(t *testing.T, admin *pgx.Conn, usage string) {
	t.Helper()
	run(t, admin, `SET allow_system_table_mods = on`)
	run(t, admin, `DO $$ BEGIN
		IF to_regproc('pg_catalog.conch_test_usage') IS NULL THEN
			ALTER FUNCTION pg_catalog.pg_notification_queue_usage() RENAME TO conch_test_usage;
		END IF; END $$`)
	run(t, admin, `CREATE OR REPLACE FUNCTION pg_catalog.pg_notification_queue_usage() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT `+usage+`::float8'`)
	run(t, admin, `ALTER FUNCTION conch.announce() COST 100`) // sessions have planned it, and plan it anew
	run(t, admin, pgmint.TriggerSQL("announce_command"))
}
