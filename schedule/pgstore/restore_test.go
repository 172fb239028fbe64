package pgstore_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// taken takes jobs, and says of each whether it may have been done.
func taken(t *testing.T, s *pgstore.Store) (all []bool) {
	t.Helper()
	got, err := s.Take(t.Context(), worker, []string{"q"}, schedule.Take{Most: 9})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range got.Jobs {
		all = append(all, j.MaybeRepeated)
	}
	return all
}

// look looks at the server, and checks what is known of it.
func look(t *testing.T, s *pgstore.Store, conn *pgx.Conn, what string, changed, restored, held bool) {
	t.Helper()
	out, err := s.Server(t.Context())
	if err != nil || out.Restored.IsZero() == restored || out.Held != held || scan[bool](t, conn, `SELECT changed_at IS NOT NULL FROM conch.schedule_server`) != changed {
		t.Errorf("%s: %+v, %v", what, out, err)
	}
	if seen, err := s.Held(t.Context()); err != nil || seen.Held != out.Held || !seen.Restored.Equal(out.Restored) || seen.At.Before(out.At) {
		t.Errorf("%s: %+v, %v; want %+v", what, seen, err, out)
	}
	run(t, conn, `UPDATE conch.schedule_server SET seen_at = seen_at - interval '2 minutes'`) // so that the next look is noted
}

// After a failover handlers are told of what may have been done; rows that nobody has looked at for ten minutes before it are a backup's, and then workers take nothing if
// the file that counts says so, until somebody says otherwise.
func TestARestoreHoldsJobs(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	if err := s.Declare(t.Context(), schedule.File{Version: 1, Hold: true}); err != nil {
		t.Fatal(err)
	}
	look(t, s, conn, "the first look", false, false, false)
	look(t, s, conn, "nothing has happened", false, false, false)
	run(t, conn, `UPDATE conch.schedule_server SET seen_at = now() - interval '1 day'`)
	look(t, s, conn, "nobody was there for a day", false, false, false)

	run(t, conn, `SELECT conch.job_add('q', 'before')`)
	run(t, conn, `UPDATE conch.schedule_server SET server = '7/1'`)
	run(t, conn, `SELECT conch.job_add('q', 'before')`)
	if all := taken(t, s); len(all) != 2 || !all[0] || !all[1] {
		t.Errorf("after a failover, which the take finds, jobs may have been done: %v", all)
	}
	look(t, s, conn, "a failover", true, false, false)
	run(t, conn, `SELECT conch.job_add('q', 'after')`)
	if all := taken(t, s); len(all) != 1 || all[0] {
		t.Errorf("what is added after it was not done: %v", all)
	}

	run(t, conn, `SELECT conch.job_add('q', 'before')`)
	run(t, conn, `UPDATE conch.schedule_server SET server = '7/1', seen_at = now() - interval '11 minutes'`)
	if all := taken(t, s); len(all) != 0 {
		t.Errorf("after a restore %v were taken", all)
	}
	look(t, s, conn, "a restore", true, true, true)
	if loaded, err := s.Read(t.Context(), schedule.Read{}); err != nil || loaded.Restored.IsZero() {
		t.Errorf("the leader is told %v, %v", loaded.Restored, err)
	}
	for _, want := range []bool{true, false} {
		if did, err := s.Release(t.Context()); did != want || err != nil {
			t.Errorf("released: %v, %v, want %v", did, err, want)
		}
	}
	if all := taken(t, s); len(all) != 1 || !all[0] {
		t.Errorf("once it is released: %v", all)
	}
}

// A restore that leaves the server what it was is known to those who remember more than the rows do; a few looks less are a failover that has lost its last seconds.
func TestWhoRemembersMore(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	for range 15 {
		look(t, s, conn, "nothing has happened", false, false, false)
	}
	run(t, conn, `UPDATE conch.schedule_server SET looks = looks - 9`)
	look(t, s, conn, "some looks are lost", false, false, false)
	run(t, conn, `UPDATE conch.schedule_server SET looks = looks - 12`)
	look(t, open(t, s.At()), conn, "another program does not know", false, false, false)
	look(t, s, conn, "one that was there does", true, true, false)
	look(t, s, conn, "once", true, true, false)
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.schedule_server WHERE restored_at > now() - interval '1 minute' AND looks > 15`); n != 1 {
		t.Error("it is not noted")
	}
}

// A look in each minute is noted, and no more.
func TestLooksAreCheap(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	looks := func() int64 {
		if _, err := s.Server(t.Context()); err != nil {
			t.Fatal(err)
		}
		return scan[int64](t, conn, `SELECT looks FROM conch.schedule_server`)
	}
	if first := looks(); looks() != first {
		t.Error("the second look in a minute is written")
	}
	for what, sql := range map[string]string{
		"a minute later":                `UPDATE conch.schedule_server SET seen_at = now() - interval '61 seconds'`,
		"once the clock is right again": `UPDATE conch.schedule_server SET seen_at = now() + interval '1 hour'`,
	} {
		before := looks()
		if run(t, conn, sql); looks() != before+1 {
			t.Errorf("%s it is not", what)
		}
	}
	if time.Since(scan[time.Time](t, conn, `SELECT seen_at FROM conch.schedule_server`)).Abs() > time.Hour/2 {
		t.Error("a clock that was ahead is remembered")
	}
}

// What has changed within the minute of the last look is found out at once; and while another one is about to note it, nothing is taken and nobody waits.
func TestAChangeIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	for what, sql := range map[string]string{
		"another server": `UPDATE conch.schedule_server SET server = '7/1', seen_at = now()`,
		"older rows":     `UPDATE conch.schedule_server SET looks = looks - 12, seen_at = now()`,
	} {
		db := pgtest.New(t)
		s, conn, other := open(t, db.Config()), db.Connect(t), db.Connect(t)
		for range 15 {
			look(t, s, conn, "nothing has happened", false, false, false)
		}
		run(t, conn, `SELECT conch.job_add('q', 'before')`)
		run(t, conn, sql)
		looked := func() bool {
			t.Helper()
			return scan[bool](t, conn, `SELECT (s).held FROM conch.schedule_look(15) s`)
		}
		commit := held(t, other, `SELECT FROM conch.schedule_server FOR UPDATE`)
		if run(t, conn, `SET lock_timeout = '1s'`); !looked() {
			t.Errorf("%s: while another one looks, jobs are taken", what)
		}
		commit()
		if looked() || !scan[bool](t, conn, `SELECT changed_at IS NOT NULL FROM conch.schedule_server`) {
			t.Errorf("%s: it is not noted, or held", what)
		}
	}
}
