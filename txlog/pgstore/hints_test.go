package pgstore_test

import (
	"context"
	"testing"
	"time"
)

// A full queue of notifications would fail the commit of an entry, so nothing is announced from half full on, and readers poll.
func TestAFullQueueOfNotificationsStopsNoEntry(t *testing.T) {
	t.Parallel()
	db, d, all := filled(t, 1)
	conn, ear := db.Connect(t), db.Connect(t)
	run(t, ear, `LISTEN conch_log`)
	// To fill the queue would take gigabytes.
	run(t, conn, `SET allow_system_table_mods = on`)
	run(t, conn, `ALTER FUNCTION pg_catalog.pg_notification_queue_usage() RENAME TO conch_test_usage`)
	for _, usage := range []string{"0.5", "0.49"} {
		run(t, conn, `CREATE OR REPLACE FUNCTION pg_catalog.pg_notification_queue_usage() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT `+usage+`::float8'`)
		all = append(all, several(t, all, 2, 1)...)
		next := all[len(all)-1:]
		run(t, conn, `SELECT conch.log_append($1, $2, 2, $3, $4, $5)`, next[0].Log[:], scope, next[0].Index, raws(next), hashes(next))
		run(t, conn, `SELECT pg_notify('conch_log', 'end')`) // comes after all that was sent before
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		heard, err := ear.WaitForNotification(ctx)
		cancel()
		if err != nil || (heard.Payload == "end") != (usage == "0.5") {
			t.Fatalf("%s full: %v was announced, error %v", usage, heard, err)
		}
	}
	if got, err := d.Records(t.Context(), genesis.ID(), 1); err != nil || len(got) != len(all) {
		t.Errorf("%d records, error %v; want %d", len(got), err, len(all))
	}
}
