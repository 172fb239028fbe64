package pgstore_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/pgstore"
)

// Without tables a program says what is missing, and goes on once they are there.
func TestAProgramWithoutTables(t *testing.T) {
	t.Parallel()
	db, d, _ := filled(t, 2)
	conn := db.Connect(t)
	if err := migrate.Down(t.Context(), conn, nil, pgstore.Tables); err != nil {
		t.Fatal(err)
	}
	if left := asked[int](t, conn, `SELECT count(*) FROM pg_class WHERE relname LIKE 'log%' AND relname NOT LIKE 'log_schema_version%' AND relnamespace = 'conch'::regnamespace`); left > 0 {
		t.Errorf("%d things are left", left)
	}
	var schema *migrate.VersionError
	if err := d.Check(t.Context()); !errors.As(err, &schema) || schema.Version != 0 {
		t.Errorf("without tables: %v, want a VersionError", err)
	}
	n := follows(t, d, often)
	ended, _ := n.tries(minted(t, conn))
	pgtest.Eventually(t, patience, "the tables are missed", func() bool {
		return slices.ContainsFunc(n.troubled(), func(err error) bool { return pg.Code(err) == "42883" })
	})
	if err := pgstore.Up(t.Context(), conn, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Check(t.Context()), d.Create(t.Context(), genesis, scope)); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, patience, "it leads", func() bool {
		select {
		case err := <-ended: // it found the tables before the log
			if !errors.Is(err, pgstore.ErrScope) {
				t.Errorf("the leadership ended with %v", err)
			}
			n.leads(minted(t, conn))
			return true
		default:
			return slices.ContainsFunc(n.took(), func(f authority.Fact) bool { _, is := f.(authority.Leads); return is })
		}
	})
}

// A pooler changes the backend after each transaction, and passes no notification on: the leaders change, and all have the same. The
// suite does not run here: PgBouncer 1.18 ends when statements are cancelled under load.
func TestBehindPgBouncer(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	cfg := pg.Config{URL: db.PgBouncer(t, pgtest.TransactionMode, "server_round_robin = 1").URL(db.Name)}
	conn := db.Connect(t)
	one, two := follows(t, created(t, cfg), often), follows(t, opened(t, cfg), often)
	var all []txlog.Record
	for range 3 {
		token := minted(t, conn)
		_, yield := one.leads(token)
		more := several(t, all, token.Epoch, 20)
		for _, r := range more {
			one.Append(r)
		}
		all = append(all, more...)
		one.commits(uint64(len(all)))
		two.commits(uint64(len(all)))
		two.Confirm(uint64(len(all)))
		two.hears("the read", func(f authority.Fact) bool {
			return f == authority.Confirmed{Read: uint64(len(all)), Index: uint64(len(all))}
		})
		yield()
		one.hears("it is deposed", func(f authority.Fact) bool { _, is := f.(authority.Deposed); return is })
		one, two = two, one
	}
	if kept, _ := two.knows(); !slices.EqualFunc(kept, all, func(a, b txlog.Record) bool { return a.Hash() == b.Hash() }) {
		t.Errorf("a node has %d records, want %d", len(kept), len(all))
	}
}

// everything runs each kind of statement.
func everything(t *testing.T, d *pgstore.Database, conn *pgx.Conn) {
	t.Helper()
	if err := errors.Join(d.Check(t.Context()), d.Create(t.Context(), genesis, scope)); err != nil {
		t.Fatal(err)
	}
	n := follows(t, d, poll)
	_, yield := n.leads(minted(t, conn))
	all := several(t, nil, 2, 2)
	for _, r := range all {
		n.Append(r)
	}
	n.commits(2)
	n.Confirm(1)
	n.hears("the read", func(f authority.Fact) bool { return f == authority.Confirmed{Read: 1, Index: 2} })
	yield()
	got, err := d.Records(t.Context(), genesis.ID(), 1)
	_, _, other := d.Genesis(t.Context(), genesis.ID())
	if err := errors.Join(err, other); err != nil || len(got) != 2 {
		t.Errorf("%d records, error %v", len(got), err)
	}
	n.stop()
	receive(t, n.ended)
}

// No SQL of this package springs a trap of a role that may create objects in public.
func TestNoTrapIsSprung(t *testing.T) {
	t.Parallel()
	pgtest.SpringsNoTrap(t, `SELECT FROM unnest(ARRAY['x'::bytea])`, func(t *testing.T, db *pgtest.DB, wide bool) {
		t.Helper()
		open := pgstore.Open
		if wide {
			open = pgstore.OpenWide
		}
		d, err := open(t.Context(), pg.Config{URL: db.URL}, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		conn := db.Connect(t)
		run(t, conn, `SET search_path = pg_catalog`)
		everything(t, d, conn)
	})
}
