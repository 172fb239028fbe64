package main_test

import (
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// F11: of two nodes with both roles one aggregates and one compacts, also after the leader was killed: a slot has its figures once and of one leader, and what has long ended is gone, or archived, where nobody
// leads crons or the account.
func TestAggregationAndCompaction(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	conn := db.Connect(t)
	pgtest.Exec(t, conn, `SELECT conch.job_add('mail', 'welcome') FROM generate_series(1, 3)`)
	pgtest.Exec(t, conn, `SELECT FROM conch.job_take('{mail}', 'worker/1', 1, 2)`)
	pgtest.Exec(t, conn, `SELECT conch.job_done(1, 1)`)
	pgtest.Exec(t, conn, `SELECT conch.job_end('{2}', '{1}', '{dead}', '{no}', '{null}', '{0}')`)
	pgtest.Exec(t, conn, `UPDATE conch.jobs SET created_at = created_at - interval '200 days'; UPDATE conch.job_attempts SET ended = ended - interval '200 days'`)
	pgtest.Exec(t, conn, `INSERT INTO conch.intents (id, chain, account, to_account, value, data, gas, creator, created_at, fate)
		SELECT gen_random_uuid(), 'evm:1', '\x01', '\x02', 1, '', 1, 'n0', now() - make_interval(days => d), f FROM (VALUES (200, 'cancelled'), (1, 'open')) AS v(d, f)`)
	pgtest.Exec(t, conn, `INSERT INTO conch.pending_accounts (chain, account, scope, system_id, timeline) SELECT 'evm:1', '\x01', 'gone', h.* FROM conch.pending_history() h`)

	roles := "[election]\nlease = \"1s\"\n[[roles]]\nname = \"aggregator\"\nbuiltin = \"aggregation\"\nevery = \"1s\"\nfenced = true\n" +
		"[[roles]]\nname = \"compactor\"\nbuiltin = \"compaction\"\n"
	one, two := startDaemon(t, "n1", db.URL, roles), prepareDaemon(t, "n2", db.URL, roles)
	one.says("the tables are compacted", "jobs", 1.0, "transactions", 1.0, "runs", 0.0)
	var left string
	if err := conn.QueryRow(t.Context(), `SELECT concat_ws(' ', (SELECT string_agg(id::text, ' ' ORDER BY id) FROM conch.jobs), (SELECT count(*) FROM conch.intents), (SELECT count(*) FROM conch.archived_intents))`).Scan(&left); err != nil || left != "2 3 1 1" {
		t.Errorf("left are jobs and intents %s, %v; want what is dead, ready and open", left, err)
	}
	slots := func(epoch int) (n int) {
		if err := conn.QueryRow(t.Context(), `SELECT count(DISTINCT at) FROM conch.sample WHERE epoch = $1`, epoch).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	until(t, "three slots", func() bool { return slots(1) >= 3 })
	two.start().says("node started")
	one.stop(syscall.SIGKILL)
	until(t, "three slots of the next leader", func() bool { return slots(2) >= 3 })

	rows, err := conn.Query(t.Context(), `SELECT concat(name, labels->>'queue', labels->>'state', labels->>'chain', labels->>'why', ' ',
			CASE WHEN name LIKE '%seconds' THEN floor(value / 3600) ELSE value END)
		FROM conch.sample WHERE at = (SELECT max(at) FROM conch.sample) AND (labels->>'why' IS NULL OR labels->>'why' = 'late') AND name NOT IN ('conch_scopes', 'conch_epochs_total') ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	got := ""
	for rows.Next() {
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		got += text + "; "
	}
	const want = "conch_schedule_jobs_held 0; conch_schedule_jobsmaildead 1; conch_schedule_jobsmailready 1; conch_schedule_oldest_ready_secondsmail 0; " +
		"conch_schedule_passed_overlate 0; conch_transactions_oldest_secondsevm:1 24; conch_transactions_waitingevm:1 1; "
	if got != want || rows.Err() != nil {
		t.Errorf("a slot has\n%s, %v, want\n%s", got, rows.Err(), want)
	}
	var odd int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM (SELECT at FROM conch.sample GROUP BY at HAVING count(DISTINCT epoch) > 1 OR count(*) FILTER (WHERE name = 'conch_epochs_total') <> 1) x`).Scan(&odd); err != nil || odd != 0 {
		t.Errorf("%d slots have figures of two leaders, or twice, %v", odd, err)
	}
}

// A publication of all tables, as users make to copy a database, refuses deletions from a table that has no key: nothing of it would be trimmed any more.
func TestEveryTableHasAKey(t *testing.T) {
	t.Parallel()
	var without []string
	err := migrated(t).Connect(t).QueryRow(t.Context(), `SELECT coalesce(array_agg(relname::text), '{}') FROM pg_class c WHERE relnamespace = 'conch'::regnamespace AND relkind = 'r'
		AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)`).Scan(&without)
	if err != nil || len(without) > 0 {
		t.Errorf("tables without a primary key: %q, %v", without, err)
	}
}
