package pgstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// From half full on the server's queue of notifications warns at each commit that notifies, and once full it fails it. So writes go on
// without a notification then, and keep their floors, without which a transaction would not be loaded.
func TestAFullQueueOfNotificationsStopsNoWrite(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	ear := s.db.Connect(t)
	run(t, ear, `LISTEN pending_tx_new; LISTEN pending_tx_update; LISTEN pending_intent; LISTEN pending_event`)
	// To fill the queue would take gigabytes.
	run(t, s.conn, `SET allow_system_table_mods = on; ALTER FUNCTION pg_catalog.pg_notification_queue_usage() RENAME TO conch_test_usage;
		CREATE FUNCTION pg_catalog.pg_notification_queue_usage() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT 0.5::float8'`)
	for n := range uint64(3) {
		signed := chain.Signed{Index: n, Hash: hashOf(n), Bytes: []byte("b"), Filler: true}
		s.write(pending.Batch{New: []pending.Slot{{Index: n, Attempts: []chain.Signed{signed}}}})
	}
	s.finalUpTo(2)
	s.opened(1)
	s.loadsWhatIsOpen("a slot was opened while nothing is announced")
	if _, err := s.Accept(t.Context(), pending.Intent{Account: pendingtest.Account}); err != nil {
		t.Fatal(err)
	}
	run(t, s.conn, `SELECT pg_notify('pending_intent', 'end')`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if heard, err := ear.WaitForNotification(ctx); err != nil || heard.Payload != "end" {
		t.Errorf("%v was announced, error %v", heard, err)
	}
}
