package pgstore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/schedule/pgstore"
)

// aLongSlot does not end while a test runs, unless that begins at the end of half a century.
const aLongSlot = 50 * 365 * 24 * time.Hour

func jobs(queue string, n float64) pgstore.Sample {
	return pgstore.Sample{Name: "conch_jobs", Labels: map[string]string{"queue": queue, "state": "dead"}, Value: n}
}

// samples lists what the table has, the oldest first.
func samples(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	return scan[string](t, conn, `SELECT coalesce(string_agg(concat_ws(' ', name, labels->>'queue', value, epoch), ', ' ORDER BY id), '') FROM conch.sample`)
}

// F11: a slot has its samples once, of whichever leader writes first; a stale leader writes nothing; the next slot has its own.
func TestASlotIsSampledOnce(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	slot := pgstore.SampleSlot{Every: aLongSlot, Keep: 2 * aLongSlot, Now: time.Now()}
	put := func(token fence.Token, want int, all ...pgstore.Sample) {
		t.Helper()
		written, rest, err := s.PutSamples(t.Context(), token, slot, all)
		if err != nil || written != want || rest <= 0 || rest > aLongSlot {
			t.Errorf("wrote %d samples of a slot that lasts %s, %v; want %d", written, rest, err, want)
		}
	}
	stale, next := leader, leader
	stale.Epoch, next.Epoch = 9, 2
	if _, _, err := s.PutSamples(t.Context(), stale, slot, []pgstore.Sample{jobs("mail", 1)}); !errors.Is(err, fence.ErrStale) || samples(t, conn) != "" {
		t.Errorf("a stale leader: %v, and there are %q", err, samples(t, conn))
	}
	put(leader, 2, jobs("mail", 1), pgstore.Sample{Name: "conch_held", Value: 0})
	put(leader, 0, jobs("mail", 2))
	run(t, conn, `UPDATE public.minted SET epoch = 2`)
	put(next, 0, jobs("mail", 3), jobs("other", 3))
	if _, _, err := s.PutSamples(t.Context(), leader, slot, []pgstore.Sample{jobs("mail", 4)}); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the leader that was deposed: %v", err)
	}
	const one = "conch_jobs mail 1 1, conch_held 0 1"
	if got := samples(t, conn); got != one {
		t.Errorf("the slot has %q, want %q", got, one)
	}
	run(t, conn, `UPDATE conch.sample SET at = at - interval '50 years'`)
	put(next, 1, jobs("mail", 5))
	if got, want := samples(t, conn), one+", conch_jobs mail 5 2"; got != want {
		t.Errorf("two slots have %q, want %q", got, want)
	}
}

// A clock that was ahead, or is set back, silences nobody: the newest sample is that of the slot that it is now, and a slot has its samples once.
func TestSamplesWhileTheClockIsStepped(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	slot := pgstore.SampleSlot{Every: aLongSlot, Keep: 4 * aLongSlot, Now: time.Now()}
	put := func(n float64) {
		t.Helper()
		if _, _, err := s.PutSamples(t.Context(), leader, slot, []pgstore.Sample{jobs("mail", n)}); err != nil {
			t.Fatal(err)
		}
	}
	put(1)
	run(t, conn, `INSERT INTO conch.sample (at, name, labels, value, epoch) SELECT at + interval '18250 days', name, labels, 2, 1 FROM conch.sample`) // ahead by a slot
	run(t, conn, `INSERT INTO conch.sample (at, name, value) SELECT min(at), 'shop_orders', 9 FROM conch.sample`)                                     // a program's own stays
	put(3)
	put(4)
	newest := func() time.Time {
		at, now, err := s.NewestSample(t.Context())
		if err != nil || now.IsZero() {
			t.Fatal(err)
		}
		return at
	}
	if got, want := samples(t, conn), "conch_jobs mail 2 1, shop_orders 9, conch_jobs mail 3 1"; got != want || newest().After(time.Now()) {
		t.Errorf("there are %q, want %q; the newest is of %s", got, want, newest())
	}
}

// What is too old by both clocks is deleted, a bounded number with each slot; what one of them calls young stays.
func TestSamplesAreTrimmed(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	run(t, conn, `INSERT INTO conch.sample (at, name, value) SELECT now() - interval '3 hours' + n * interval '1 ms', 'shop_orders', n FROM generate_series(1, 7000) n`)
	run(t, conn, `INSERT INTO conch.sample (at, name, value) VALUES (now() - interval '30 minutes', 'shop_orders', 0)`)
	slot := pgstore.SampleSlot{Every: aLongSlot, Keep: time.Hour, Now: time.Now().Add(-4 * time.Hour)}
	says := ""
	put := func() {
		t.Helper()
		if _, _, err := s.PutSamples(t.Context(), leader, slot, nil); err != nil {
			t.Fatal(err)
		}
		says += fmt.Sprint(scan[int](t, conn, `SELECT count(*) FROM conch.sample`), " ")
	}
	put()
	slot.Now = time.Now().Add(24 * time.Hour)
	put()
	put()
	if want := "7001 2001 1 "; says != want {
		t.Errorf("so many are left: %s, want %s", says, want)
	}
}

// What programs add has to have a name and labels that a rule can use, and is not called like conch's own.
func TestSamplesOfPrograms(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	const add = `INSERT INTO conch.sample (name, labels, value) VALUES ($1, $2, 17)`
	for _, bad := range [][2]string{{"conch_is_leader", "{}"}, {"2nd", "{}"}, {"a b", "{}"}, {"", "{}"}, {"shop_orders", `["berlin"]`}} {
		if _, err := conn.Exec(t.Context(), add, bad[0], bad[1]); pg.Code(err) != "23514" {
			t.Errorf("%q: %v, want a violated check", bad, err)
		}
	}
	run(t, conn, add, "shop_orders", `{"shop": "berlin"}`)
	if at, _, err := s.NewestSample(t.Context()); !at.IsZero() || err != nil {
		t.Errorf("the newest of conch's own is of %s, %v; want none", at, err)
	}
}

// Times that were passed over are counted by why, within the span that was asked for.
func TestPassedOver(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	run(t, conn, `INSERT INTO conch.cron_gaps SELECT 1, now(), now(), n, w, 1, now() - make_interval(mins => m) FROM (VALUES (3, 'late', 5), (4, 'late', 50), (5, 'limit', 5), (9, 'late', 70)) AS g(n, w, m)`)
	if got, err := s.PassedOver(t.Context(), time.Hour); err != nil || fmt.Sprint(got) != "map[late:7 limit:5]" {
		t.Errorf("got %v, %v", got, err)
	}
}
