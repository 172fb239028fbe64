//go:build unix

package schedule

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// operate does everything that a node does, under a role, with crons of new names.
func operate(ctx context.Context, cfg pg.Config, token fence.Token) error {
	s, err := pgstore.Open(ctx, cfg, 2)
	if err != nil {
		return err
	}
	defer s.Close()
	name := rand.Text()
	crons := schedule.Config{Crons: []schedule.Cron{
		{Name: name, Schedule: "* * * * *", Job: "work", Queue: name}, {Name: name + "'", Schedule: "* * * * *", Job: "work", Queue: name, Overlap: schedule.Queue},
	}}.WithDefaults()
	file := crons.File()
	all := []error{s.Check(ctx), s.Declare(ctx, file), s.Declare(ctx, schedule.File{Crons: file.Crons[:1]}), s.Declare(ctx, file)}
	_, _, differs := s.Differs(ctx, file)
	return errors.Join(append(all, differs, leads(ctx, s, token, name), people(ctx, s, cfg, token, name))...)
}

// grown adds an element to a list whose type has no name here.
func grown[E any](list *[]E) *E {
	*list = append(*list, *new(E))
	return &(*list)[len(*list)-1]
}

// leads writes what a leader writes: rows, one of them skipped, a gap, and what is deleted.
func leads(ctx context.Context, s *pgstore.Store, token fence.Token, name string) error {
	found, err := s.Read(ctx, schedule.Read{})
	if err != nil {
		return err
	}
	var w schedule.Write
	base := found.At.Add(-time.Hour)
	m := grown(&w.Moves)
	for _, c := range found.Crons {
		if c.Name == name {
			m.Cron, m.Was, m.To.At, m.Adopt, m.Since = c.ID, c.Position, base, 1, base
		}
	}
	if _, err := s.Write(ctx, token, w); err != nil {
		return err
	}
	m.Was.Cursor, m.Was.Adopted, m.Adopt, m.To.At = m.To, 1, 0, base.Add(2*time.Minute)
	m.Gap = &schedule.Gap{From: base, To: base, Count: 1, Why: "late"}
	for i := range 2 {
		r := grown(&m.Runs)
		r.At, r.Begins, r.Revision = base.Add(time.Duration(i+1)*time.Minute), base, 1
	}
	out, err := s.Write(ctx, token, w)
	if err == nil && len(out.Ends) != 2 {
		err = errors.New("it has not written two rows")
	}
	if err != nil {
		return err
	}
	var old schedule.Write
	p := grown(&old.Prunes)
	p.Cron, p.Upto = m.Cron, base.Add(time.Minute)
	if _, err = s.Write(ctx, token, old); err == nil {
		_, err = s.Trim(ctx, token, base, 0)
	}
	if err == nil {
		slot := pgstore.SampleSlot{Every: time.Nanosecond * 1000, Keep: time.Hour, Now: time.Now()} // each one is another slot
		_, _, err = s.PutSamples(ctx, token, slot, []pgstore.Sample{{Name: "conch_figure"}})
	}
	return err
}

// people does what callers ask for, and takes the jobs.
func people(ctx context.Context, s *pgstore.Store, cfg pg.Config, token fence.Token, name string) error {
	var all []error
	try := func(_ any, err error) { all = append(all, err) }
	all = append(all, s.Pause(ctx, name, true, "ops"))
	try(s.Server(ctx))
	try(s.Held(ctx))
	try(s.Release(ctx))
	try(s.RunNow(ctx, name, time.Time{}, time.Time{}))
	try(s.RunNow(ctx, name, time.Time{}, time.Time{}))
	try(s.Crons(ctx, "", "", 9))
	try(s.Past(ctx, []int64{1}, time.Now(), 9))
	try(s.Gaps(ctx, 1, time.Now(), 9))
	try(s.Depths(ctx))
	try(s.Jobs(ctx, pgstore.JobFilter{Most: 9}))
	id, err := s.Add(ctx, pgstore.Addition{Queue: name, Handler: "work", Args: "{}", Key: name, Lane: name, Retries: 3, Timeout: time.Minute})
	try(id, err)
	try(s.Add(ctx, pgstore.Addition{Queue: name, Handler: "work", Args: "{}", Key: name, Timeout: time.Minute}))
	later, err := s.Add(ctx, pgstore.Addition{Queue: name, Handler: "work", Args: "{}", RunAt: time.Now().Add(time.Hour), Timeout: time.Minute})
	try(later, err)
	try(s.Hurry(ctx, later))
	_, _, err = s.Record(ctx, id)
	try(s.Cancel(ctx, later, "no"))
	for _, lane := range []string{name + "'", ""} {
		try(s.Add(ctx, pgstore.Addition{Queue: name, Handler: "work", Args: "{}", Lane: lane, Timeout: time.Minute}))
	}
	got, taken := s.Take(ctx, token, []string{name}, schedule.Take{Most: 9})
	all = append(all, err, taken, hold(ctx, cfg, got.Jobs))
	if len(got.Jobs) > 0 {
		try(s.Cancel(ctx, got.Jobs[0].ID, "no"))
	}
	outcomes := []string{"dead", "failed", "dead", "done"}
	for i, j := range got.Jobs {
		_, err := s.Look(ctx, token.Scope, map[schedule.Key]string{j.Key: "half"})
		_, told := s.Tell(ctx, []schedule.End{{Key: j.Key, Outcome: outcomes[i%4], Error: "no", Pause: time.Minute}})
		all = append(all, err, told)
	}
	again, err := s.Add(ctx, pgstore.Addition{Queue: name + "-later", Handler: "work", Args: "{}", Timeout: time.Minute})
	try(again, err)
	for range 2 { // the second one finds it among those that come later, and are due
		_, taken := s.Take(ctx, token, []string{name + "-later"}, schedule.Take{Most: 1})
		_, told := s.Tell(ctx, []schedule.End{{Key: schedule.Key{ID: again, Attempt: 1}, Outcome: "later", Pause: time.Microsecond}})
		all = append(all, taken, told)
	}
	operation := pgstore.Operation{ID: newOperation(), Kind: pgstore.Retry, Queue: name}
	try(s.Operate(ctx, operation))
	try(s.Operation(ctx, operation.ID))
	return errors.Join(all...)
}

// hold proves an attempt, as a handler does in a transaction of its own.
func hold(ctx context.Context, cfg pg.Config, jobs []schedule.Job) error {
	conn, err := pg.Connect(ctx, cfg)
	if err != nil || len(jobs) == 0 {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	last := jobs[len(jobs)-1]
	_, held := conn.Exec(ctx, `SELECT conch.job_hold($1, $2)`, last.ID, last.Attempt)
	_, done := conn.Exec(ctx, `SELECT conch.job_done($1, $2)`, last.ID, last.Attempt)
	return errors.Join(held, done)
}

// S29: the grants of deploy/grants.sql are enough for a node, and it needs each of them.
func TestGrants(t *testing.T) {
	t.Parallel()
	c := pgtest.Granted(t, pgtest.New(t))
	token, _ := nodetest.Lead(t, c.URL, "n1", "scheduler", time.Minute)
	node := pg.Config{URL: c.As(t, c.Node)}
	c.NeedsEach(t, "^(cron|job|sample|schedule)", 40, func() error { return operate(t.Context(), node, token) })
}

// S29: an observer sees what is scheduled and what waits, and nothing that handlers get; a program that fences its own transactions sees
// nothing, and adds and ends jobs. No table of crons or jobs is left out.
func TestGrantsAreNarrow(t *testing.T) {
	t.Parallel()
	c := pgtest.Granted(t, pgtest.New(t))
	for _, name := range c.Privileges(t, c.Connect(t), "^(cron|job|sample|schedule)") {
		who, what, _ := strings.Cut(name, ": ")
		if who == "fence" && !strings.Contains(what, "function conch.job_") && (!strings.HasPrefix(what, "INSERT (") || !strings.HasSuffix(what, "conch.sample")) || who == "observer" && !strings.HasPrefix(what, "SELECT") {
			t.Errorf("%s is granted", name)
		}
	}
	observer := pgtest.Connect(t, pg.Config{URL: c.As(t, c.Observer)})
	for _, sql := range []string{`SELECT args FROM conch.jobs`, `SELECT FROM conch.job_attempts`, `SELECT definition FROM conch.cron_revisions`} {
		if _, err := observer.Exec(t.Context(), sql); pg.Code(err) != "42501" {
			t.Errorf("an observer: %s: %v, want 42501", sql, err)
		}
	}
	pgtest.Exec(t, observer, `SELECT queue FROM conch.jobs`)
	program := pgtest.Connect(t, pg.Config{URL: c.As(t, c.Fence)})
	pgtest.Exec(t, program, `INSERT INTO conch.sample (name, labels, value) VALUES ('shop_orders', '{"shop": "berlin"}', 17)`)
	for _, sql := range []string{`INSERT INTO conch.sample (name, value, epoch) VALUES ('conch_jobs', 1, 1)`, `SELECT FROM conch.sample`, `DELETE FROM conch.sample`} {
		if _, err := program.Exec(t.Context(), sql); pg.Code(err) != "42501" {
			t.Errorf("a program: %s: %v, want 42501", sql, err)
		}
	}
	store := open(t, c.As(t, c.Observer))
	if _, err := store.Depths(t.Context()); err != nil {
		t.Errorf("doctor as an observer: %v", err)
	}
	if at, _, err := store.NewestSample(t.Context()); !at.IsZero() || err != nil {
		t.Errorf("doctor as an observer: %s, %v; want no sample of conch's", at, err)
	}
	if _, _, err := store.Differs(t.Context(), schedule.File{}); err != nil {
		t.Errorf("doctor as an observer: %v", err)
	}
	if err := new(facts).gather(t.Context(), store, pgmint.Config{URL: c.As(t, c.Observer)}); err != nil {
		t.Errorf("doctor as an observer: %v", err)
	}
}
