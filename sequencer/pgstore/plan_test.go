package pgstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/pgstore"
)

// rowsRead returns how many rows of each table statements have read so far.
func rowsRead(t *testing.T, conn *pgx.Conn, d *pgstore.Database) (n map[string]int) {
	t.Helper()
	ctx := t.Context()
	err := d.Flush(ctx)
	_, other := conn.Exec(ctx, `SELECT pg_stat_force_next_flush()`)
	rows, failed := conn.Query(ctx, `SELECT relname, (coalesce(idx_tup_fetch, 0) + seq_tup_read)::int FROM pg_stat_user_tables WHERE schemaname = 'conch'`)
	if err := errors.Join(err, other, failed); err != nil {
		t.Fatal(err)
	}
	n = map[string]int{}
	var name string
	var read int
	if _, err := pgx.ForEachRow(rows, []any{&name, &read}, func() error { n[name] = read; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

func hashed(n int) (h ledger.Hash) {
	copy(h[:], fmt.Sprintf("%032d", n))
	return h
}

// many is one kind of change for each of some intents, states and dispatches.
func many(first, last int, change func(c *core.Change, owner *sender.Store, b *book.Change, n int)) core.Change {
	c := core.Change{Contract: "k", Sender: &sender.Store{}, Book: &book.Change{Number: uint64(last)}}
	for n := first; n < last; n++ {
		change(&c, c.Sender, c.Book, n)
	}
	return c
}

func insert(c *core.Change, owner *sender.Store, b *book.Change, n int) {
	in := ledger.Intent{Owner: "me", Sequence: number(uint64(n))}
	whole := wire.Whole{Attempt: ledger.Attempt{Intent: in, Data: make([]byte, 200)}, Payload: make([]byte, 200)}
	grant := ledger.Grant{Assembled: hashed(n), Coordinator: "you", ValidUntil: 9}
	owner.Intents = append(owner.Intents, sender.IntentRow{Sequence: in.Sequence, Key: fmt.Sprint("key ", n), Payload: make([]byte, 200)})
	owner.Grants = append(owner.Grants, sender.GrantRow{Given: grants.Given{Intent: in, Assembled: hashed(n), ValidUntil: 9}, To: "you", Grant: grant, Whole: whole})
	c.Rows = append(c.Rows, coordinator.Row{Dispatch: wire.Dispatch{Whole: whole, Grant: grant}})
	b.Added = append(b.Added, domain.State{ID: ledger.StateID(hashed(n))})
	b.Missing = append(b.Missing, book.Missing{Assembled: hashed(n)})
	b.Early = append(b.Early, ledger.StateID(hashed(n)))
}

// Each row of a write is found by its key, however many there are, whether the tables were ever analysed or not. A plan that
// reads a table, or compares each row with the whole write, takes minutes. The test counts the rows read.
func TestAWriteReadsItsRows(t *testing.T) {
	t.Parallel()
	const all, batch = 4000, 200
	for name, analyse := range map[string]bool{"analysed": true, "never analysed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			d := opened(t, db.Config())
			s := begin(t, d, 1)
			conn := db.Connect(t)
			write(t, s, many(0, all, insert))
			if analyse {
				run(t, conn, `ANALYZE`)
			}
			tables := []string{"intents", "grants", "attempts", "dispatches", "states", "missing", "early"}
			for what, change := range map[string]core.Change{
				"the same again": many(0, batch, insert),
				"new ones":       many(all, all+batch, insert),
				"changes": many(0, batch, func(c *core.Change, owner *sender.Store, _ *book.Change, n int) {
					owner.Marks = append(owner.Marks, sender.Mark{Sequence: number(uint64(n)), Failures: 1})
					c.Noted = append(c.Noted, ledger.Intent{Owner: "me", Sequence: number(uint64(n))})
				}),
				"ends": many(batch, 2*batch, func(c *core.Change, owner *sender.Store, b *book.Change, n int) {
					owner.Results = append(owner.Results, ledger.Result{Sequence: number(uint64(n))})
					c.Over = append(c.Over, ledger.Intent{Owner: "me", Sequence: number(uint64(n))})
					b.Removed, b.Heard, b.Late = append(b.Removed, ledger.StateID(hashed(n))), append(b.Heard, hashed(n)), append(b.Late, ledger.StateID(hashed(n)))
				}),
				"contents": {}, // only reads
			} {
				before := rowsRead(t, conn, d)
				if what == "contents" {
					var names []ledger.Hash
					for n := range batch {
						names = append(names, hashed(n))
					}
					if got, err := s.Attempts(t.Context(), "k", names); err != nil || len(got) != batch {
						t.Fatalf("%d attempts, error %v; want %d", len(got), err, batch)
					}
					for f, want := range map[sequencer.Filter]int{{}: 100, {Before: 50}: 49, {Sequence: number(9)}: 1} {
						if got, err := s.List(t.Context(), "k", f); err != nil || len(got) != want {
							t.Fatalf("%d intents are listed by %+v, error %v; want %d", len(got), f, err, want)
						}
					}
					for n := range batch {
						if _, is, err := s.Find(t.Context(), "k", fmt.Sprint("key ", n)); err != nil || !is {
							t.Fatalf("the key %d: %v, error %v", n, is, err)
						}
					}
				} else {
					write(t, s, change)
				}
				after := rowsRead(t, conn, d)
				for _, table := range tables {
					if n := after["sequencer_"+table] - before["sequencer_"+table]; n > 4*batch {
						t.Errorf("%s: %d rows of %s were read for %d", what, n, table, batch)
					}
				}
			}
		})
	}
}

// The server keeps the plans of statements that are prepared. One that was made while a table was nearly empty, and never
// analysed, must not read all of it once it is large: a new node has a minute of that before it, and longer where nothing
// analyses.
func TestAWriteReadsItsRowsInATableThatGrows(t *testing.T) {
	t.Parallel()
	const all, batch = 1600, 20
	for name, vacuum := range map[string]string{"left alone": `SELECT`, "vacuumed": `VACUUM conch.sequencer_intents`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			grows(t, all, batch, vacuum)
		})
	}
}

func grows(t *testing.T, all, batch int, between string) {
	t.Helper()
	db := pgtest.New(t)
	d := opened(t, db.Config())
	s := begin(t, d, 1)
	conn := db.Connect(t)
	ends := func(c *core.Change, owner *sender.Store, _ *book.Change, n int) {
		owner.Results = append(owner.Results, ledger.Result{Sequence: number(uint64(n))})
		c.Over = append(c.Over, ledger.Intent{Owner: "me", Sequence: number(uint64(n))})
	}
	notes := func(c *core.Change, owner *sender.Store, _ *book.Change, n int) {
		owner.Marks = append(owner.Marks, sender.Mark{Sequence: number(uint64(n)), Failures: 1})
		c.Noted = append(c.Noted, ledger.Intent{Owner: "me", Sequence: number(uint64(n))})
	}
	for n := 0; n < all; n += batch {
		run(t, conn, between)
		before := rowsRead(t, conn, d)
		write(t, s, many(n, n+batch, insert))
		write(t, s, many(n, n+batch, notes))
		if n >= batch {
			write(t, s, many(n-batch, n, ends))
		}
		after := rowsRead(t, conn, d)
		for _, table := range []string{"intents", "grants", "attempts", "dispatches", "states", "missing", "early"} {
			if got := after["sequencer_"+table] - before["sequencer_"+table]; got > 6*batch {
				t.Fatalf("with %d in the table, %d rows of %s were read for %d", n, got, table, 3*batch)
			}
		}
	}
}

// P39, P40: a start reads what is open, and nothing of what has ended, though that is nearly all there is.
func TestLoadOfMany(t *testing.T) {
	t.Parallel()
	all, keep := 6000, 100 // of which one is open
	if runtest.Nightly() {
		all, keep = 500_000, 10
	}
	db := pgtest.New(t)
	d := opened(t, db.Config())
	s := begin(t, d, 1)
	for n := 0; n < all; n += 2000 {
		write(t, s, many(n, n+2000, func(c *core.Change, owner *sender.Store, b *book.Change, n int) {
			insert(c, owner, &book.Change{}, n)
			if n%keep != 0 {
				owner.Results = append(owner.Results, ledger.Result{Sequence: number(uint64(n))})
				c.Over = append(c.Over, ledger.Intent{Owner: "me", Sequence: number(uint64(n))})
			}
		}))
	}
	conn := db.Connect(t)
	open := all / keep
	for _, analyse := range []bool{false, true} {
		if analyse {
			run(t, conn, `ANALYZE`)
		}
		for try := range 7 { // from the sixth on, the server may use a plan that fits any contract
			before, began := rowsRead(t, conn, d), time.Now()
			stored := load(t, s)
			took, after := time.Since(began), rowsRead(t, conn, d)
			if len(stored.Intents) != open || len(stored.Rows) != open || len(stored.Intents[open-1].Grants) != 1 {
				t.Fatalf("%d intents and %d rows, want %d of each", len(stored.Intents), len(stored.Rows), open)
			}
			for table, most := range map[string]int{"intents": 2, "grants": 1, "attempts": 2, "dispatches": 1} {
				if n := after["sequencer_"+table] - before["sequencer_"+table]; n > most*open {
					t.Errorf("try %d, analysed %v: %d rows of %s were read for %d that are open", try+1, analyse, n, table, open)
				}
			}
			t.Logf("try %d, analysed %v: %d of %d in %v", try+1, analyse, open, all, took)
		}
	}
}
