package pgstore_test

import (
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// The tables cannot be removed while jobs have not ended. Without them a program says what is missing.
func TestTablesAreRemovedOnlyWhenAllHasEnded(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s, conn := open(t, db.Config()), db.Connect(t)
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	down := func() error { return migrate.Down(t.Context(), conn, nil, pgstore.Tables) }
	id := scan[int64](t, conn, `SELECT conch.job_add('q', 'work')`)
	kill(t, conn, 1)
	var open *migrate.OpenError
	if err := down(); !errors.As(err, &open) || open.Open[0]+open.Open[1] != 2 {
		t.Errorf("with jobs: %v", err)
	}
	run(t, conn, `DELETE FROM conch.job_ready`)
	run(t, conn, `DELETE FROM conch.job_dead`)
	if err := down(); err != nil {
		t.Fatalf("job %d: %v", id, err)
	}
	var schema *migrate.VersionError
	if err := s.Check(t.Context()); !errors.As(err, &schema) || schema.Version != 0 {
		t.Errorf("without tables: %v, want a VersionError", err)
	}
	if n := scan[int](t, conn, `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'conch' AND c.relname ~ '^(cron|job|sample|slot)'`); n != 0 {
		t.Errorf("%d things are left", n)
	}
	if err := pgstore.Up(t.Context(), conn, nil); err != nil {
		t.Fatal(err)
	}
	if all, err := pgstore.Tables.Status(t.Context(), conn); err != nil || len(all) != pgstore.Tables.Newest() || all[0].AppliedAt == nil {
		t.Errorf("the status is %+v, %v", all, err)
	}
}

// No SQL of this package springs a trap of a role that may create objects in public.
func TestNoTrapIsSprung(t *testing.T) {
	t.Parallel()
	pgtest.SpringsNoTrap(t, `SELECT FROM unnest(ARRAY['x'::bytea])`, func(t *testing.T, db *pgtest.DB, wide bool) {
		t.Helper()
		opens := pgstore.Open
		if wide {
			opens = pgstore.OpenWide
		}
		s, err := opens(t.Context(), pg.Config{URL: db.URL}, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		everything(t, s)
	})
}

// What is promised is durable: moves, and the ends of jobs.
func TestWhatIsPromisedIsDurable(t *testing.T) {
	t.Parallel()
	pgtest.Durable(t, func(t *testing.T, _ *pgtest.DB, cfg pg.Config) {
		t.Helper()
		everything(t, open(t, cfg))
	}, "UPDATE cron_file", "UPDATE crons", "INSERT job_taken", "INSERT job_attempts", "INSERT job_operations", "UPDATE job_operations", "INSERT slots", "UPDATE slots", "INSERT sample")
}

// everything runs each kind of statement.
func everything(t *testing.T, s *pgstore.Store) {
	t.Helper()
	d := &desk{t: t, s: s, base: time.Now().UTC().Truncate(time.Second).Add(-time.Hour)}
	c := d.declare(1, cron("tick", "queue"))[0]
	first := d.adopt(c)
	d.write(first)
	d.write(d.after(first, 1, 1, 2, 3, 4))
	for _, outcome := range []string{"done", "dead"} {
		got, err := s.Take(t.Context(), worker, []string{"default"}, schedule.Take{Most: 5})
		if err != nil || len(got.Jobs) != 1 {
			t.Fatalf("took %+v, %v", got, err)
		}
		key := got.Jobs[0].Key
		if held, err := s.Look(t.Context(), worker.Scope, map[schedule.Key]string{key: "half"}); err != nil || len(held) != 1 {
			t.Errorf("saw %+v, %v", held, err)
		}
		tell(t, s, of(key.ID, 1, outcome))
	}
	if done, err := s.Operate(t.Context(), pgstore.Operation{ID: [16]byte{1}, Kind: pgstore.Retry}); err != nil || done != 1 {
		t.Errorf("%d were retried, %v", done, err)
	}
	slot := pgstore.Slot{Call: pgstore.NewCall(), Length: time.Hour}
	if turn, err := s.BeginSlot(t.Context(), leader, slot); err != nil || !turn.Taken {
		t.Errorf("the slot: %+v, %v", turn, err)
	}
	if err := s.EndSlot(t.Context(), leader, slot.Call, 0); err != nil {
		t.Error(err)
	}
	_, zones := s.Zones(t.Context(), []string{"Europe/Berlin"})
	_, server := s.Server(t.Context())
	_, held := s.Held(t.Context())
	_, released := s.Release(t.Context())
	_, slots := s.Slots(t.Context(), "")
	_, trimmed := s.Trim(t.Context(), leader, time.Now(), 0)
	_, _, put := s.PutSamples(t.Context(), leader, pgstore.SampleSlot{Every: time.Hour, Keep: time.Hour, Now: time.Now()}, []pgstore.Sample{{Name: "conch_figure", Labels: map[string]string{"a": "b"}}})
	_, _, newest := s.NewestSample(t.Context())
	_, unused := s.Unused(t.Context(), []string{"q"})
	_, passed := s.PassedOver(t.Context(), time.Hour)
	if err := errors.Join(zones, server, held, released, slots, trimmed, put, newest, passed, unused); err != nil {
		t.Error(err)
	}
}
