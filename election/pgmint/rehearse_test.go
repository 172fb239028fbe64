package pgmint_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// After Open, which has run every function of a tenure, a session has led no scope, holds only its
// process key, and has used up no id of the history.
func TestARehearsalLeavesNothing(t *testing.T) {
	t.Parallel()
	db, m, _, _ := setup(t)
	conn := db.Connect(t)
	if _, err := conn.Exec(t.Context(), `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET track_functions = ''all''', current_database()); END $$`); err != nil {
		t.Fatal(err)
	}
	type traces struct{ Rows, Events, Last, Processes, Locks int }
	count := func() (all traces) {
		t.Helper()
		err := conn.QueryRow(t.Context(), `
			SELECT (SELECT count(*) FROM conch.leadership), (SELECT count(*) FROM conch.leadership_history),
			       (SELECT last_value FROM conch.leadership_history_id_seq), (SELECT count(*) FROM conch.process),
			       (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database =
			           (SELECT oid FROM pg_database WHERE datname = current_database()))`,
		).Scan(&all.Rows, &all.Events, &all.Last, &all.Processes, &all.Locks)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := count()
	b := candidate(t, m, "b", unhurried, mint.Strict)
	want.Processes++
	want.Locks++
	if got := count(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	_ = b.Close() // the server counts its calls when it ends, otherwise after ten idle seconds
	for _, function := range []string{"bid", "beat", "part", "announce", "guard_epoch"} {
		pgtest.Eventually(t, 10*time.Second, "conch."+function+" to have run", func() (has bool) {
			err := conn.QueryRow(t.Context(), `SELECT coalesce(sum(calls), 0) > 0 FROM pg_stat_user_functions WHERE schemaname = 'conch' AND funcname = $1`, function).Scan(&has)
			if err != nil {
				t.Fatal(err)
			}
			return has
		})
	}
}

// A rehearsal that fails half-way keeps no lock, and its session can campaign.
func TestARehearsalThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	db, m, _, _ := setup(t)
	conn := db.Connect(t)
	if _, err := conn.Exec(t.Context(), `ALTER TABLE conch.heartbeat RENAME TO away`); err != nil {
		t.Fatal(err)
	}
	locks := func() (n int) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database =
			(SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := locks()
	candidate(t, m, "b", unhurried, mint.Strict)
	if after := locks(); after != before+1 {
		t.Errorf("got %d locks more, want one, of the process key", after-before)
	}
}

// What no rehearsal prepares is short: each statement reads and plans the conditions of triggers anew, and a bid and a farewell have
// others wait.
func TestABidReadsShortConditions(t *testing.T) {
	t.Parallel()
	db, _, _, _ := setup(t)
	var bytes int
	if err := db.Connect(t).QueryRow(t.Context(), `SELECT coalesce(sum(length(tgqual::text)), 0) FROM pg_trigger
		WHERE tgrelid IN ('conch.leadership'::regclass, 'conch.leadership_history'::regclass, 'conch.heartbeat'::regclass, 'conch.process'::regclass)`).Scan(&bytes); err != nil {
		t.Fatal(err)
	}
	if bytes > 1000 { // two columns compared with IS DISTINCT FROM have 800
		t.Errorf("the conditions of triggers have %d bytes: put what is long into their functions", bytes)
	}
}
