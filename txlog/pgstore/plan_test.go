package pgstore_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/pgstore"
)

// rowsRead returns how many records statements have read so far.
func rowsRead(t *testing.T, conn *pgx.Conn, d *pgstore.Database) int {
	t.Helper()
	if err := d.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	run(t, conn, `SELECT pg_stat_force_next_flush()`)
	return asked[int](t, conn, `SELECT (coalesce(idx_tup_fetch, 0) + seq_tup_read)::int FROM pg_stat_user_tables WHERE schemaname = 'conch' AND relname = 'log_record'`)
}

// A node reads the records that it lacks, and an append those that it repeats, however long the log is, whether the table was ever
// analysed or not.
func TestALongLogIsNotRead(t *testing.T) {
	t.Parallel()
	const long, few = 3000, 20
	for name, analyse := range map[string]bool{"analysed": true, "never analysed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, d, all := filled(t, 1)
			conn := db.Connect(t)
			appends := func(records []txlog.Record) {
				run(t, conn, `SELECT conch.log_append($1, $2, 2, $3, $4, $5)`, records[0].Log[:], scope, records[0].Index, raws(records), hashes(records))
			}
			all = append(all, several(t, all, 2, long-1)...)
			for some := range slices.Chunk(all[1:], 500) {
				appends(some)
			}
			if analyse {
				run(t, conn, `ANALYZE conch.log_record`)
			}
			before := rowsRead(t, conn, d)
			got, err := d.Records(t.Context(), genesis.ID(), long-few+1)
			if err != nil || len(got) != few {
				t.Fatalf("%d records, error %v; want %d", len(got), err, few)
			}
			if n := rowsRead(t, conn, d) - before; n > few+1 {
				t.Errorf("%d records were read for %d", n, few)
			}
			before = rowsRead(t, conn, d)
			appends(all[long-few:])
			if n := rowsRead(t, conn, d) - before; n > few {
				t.Errorf("%d records were read to repeat %d", n, few)
			}
		})
	}
}

// A read returns no more bytes than it may, and at least one record: large ones come one after the other, and all of them come.
func TestLargeRecordsComeInSeveralReads(t *testing.T) {
	t.Parallel()
	db, d, all := filled(t, 1)
	n := follows(t, d, poll, all...)
	_, yield := n.leads(minted(t, db.Connect(t)))
	for range 20 {
		all = append(all, after(t, all, 3, txlog.Entry{Kind: txlog.Executed, GoalID: "large", Goal: []byte{byte(len(all))}, Diff: make([]byte, limits.MostDiff)}))
		n.Append(all[len(all)-1])
	}
	n.commits(21)
	yield()
	got, err := d.Records(t.Context(), genesis.ID(), 2)
	if err != nil || len(got) < 8 || len(got) > 9 {
		t.Errorf("%d records of 1 MiB in a read, error %v; want 8 MiB and what is begun", len(got), err)
	}
	other := follows(t, opened(t, db.Config()), poll, all[0])
	only(t, other.hears("all records", func(f authority.Fact) bool { return f == authority.Committed{Index: 21} })[1:], all[1:]...)
}
