package pgstore_test

import (
	"testing"

	"github.com/conchhq/conch/internal/pg"
)

// A rehearsal leaves prepared statements and nothing else: no row, no notification.
func TestARehearsalLeavesNothing(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	ears := s.db.Connect(t)
	run(t, ears, `LISTEN pending_tx_new`)
	run(t, ears, `LISTEN pending_tx_update`)
	run(t, ears, `LISTEN pending_intent; LISTEN pending_event`)
	d := opened(t, pg.Config{URL: s.db.URL, AppName: "rehearsal"}, 1)
	for range 2 { // the second one does nothing
		if err := d.Rehearse(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var rows int
	if err := s.conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM conch.intents) + (SELECT count(*) FROM conch.pending_accounts)
		+ (SELECT count(*) FROM conch.pending_events) + (SELECT count(*) FROM conch.pending_transactions) + (SELECT count(*) FROM conch.pending_attempts)`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows are left, error %v; want 0", rows, err)
	}
	if known, err := d.Known(t.Context()); err != nil || known < 10 {
		t.Errorf("%d statements are prepared, error %v; want 10 at least", known, err)
	}
	run(t, s.conn, `NOTIFY pending_intent, 'the first'`)
	if heard, err := ears.WaitForNotification(t.Context()); err != nil || heard.Payload != "the first" {
		t.Errorf("the first notification is %v, error %v; want the test's own", heard, err)
	}
}
