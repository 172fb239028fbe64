package pgmint_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// obedient is an elector that also carries out commands.
func obedient(t *testing.T, url, id string, role election.Role, change ...func(*election.Config)) *election.Elector {
	t.Helper()
	role.Scope = "s"
	c := election.Config{
		Mint: newMint(t, url), ID: id, Lease: 3 * time.Second, Roles: []election.Role{role},
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&c)
	}
	e, err := election.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	go func() { _ = e.Run(ctx); done <- struct{}{} }()
	go func() { pgmint.Obey(ctx, pgmint.Config{URL: url}, id, e); done <- struct{}{} }()
	t.Cleanup(func() { cancel(); <-done; <-done })
	return e
}

// F6, S33: drain and transfer with access to the database alone; the successor of
// a transfer is warmed before the release; history names the actor.
func TestCommands(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	cfg := pgmint.Config{URL: db.URL}
	a := obedient(t, db.URL, "a", election.Role{})
	wait(t, a, fence.Act)
	var warmed atomic.Int64
	b := obedient(t, db.URL, "b", election.Role{Warm: func(context.Context) error {
		if !a.Gate("s").IsOpen(fence.Act) {
			t.Error("the successor was warmed after the release")
		}
		warmed.Add(1)
		return nil
	}})
	c := db.Connect(t)
	pgtest.Eventually(t, 10*time.Second, "both to listen for commands", func() bool {
		var n int
		return c.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'conch commands'`).Scan(&n) == nil && n == 4 &&
			b.Snapshot()[0].Holder == "a"
	})
	var steps []string
	note := func(s string) { steps = append(steps, s) }
	began := time.Now()
	if _, err := pgmint.Ask(t.Context(), cfg, pgmint.Request{Scope: "s", To: "b", Actor: "ops", Timeout: 5 * time.Second}, note); err != nil {
		t.Fatal(err, steps)
	}
	wait(t, b, fence.Act)
	t.Logf("transfer: %s from the request to the successor's act door; %q", time.Since(began), steps)
	// Steps may pass faster than they are read; the last one may not be missed.
	if warmed.Load() != 1 || len(steps) < 2 || steps[len(steps)-1] != "done" {
		t.Errorf("warmed %d times, steps %q", warmed.Load(), steps)
	}
	if _, err := pgmint.Ask(t.Context(), cfg, pgmint.Request{Scope: "s", Actor: "ops", Timeout: 5 * time.Second}, note); err != nil {
		t.Fatal(err)
	}
	wait(t, a, fence.Act)
	o, err := pgmint.Observe(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	events, err := o.History(t.Context(), "s", 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, e.Event+" "+e.Actor)
	}
	if s := strings.Join(got, ", "); s != "acquired , transferred ops, acquired , drained ops, acquired " {
		t.Errorf("history: %s", s)
	}
	var candidate *pgmint.CandidateError
	for _, bad := range []pgmint.Request{
		{Scope: "s", To: "nobody", Actor: "ops", Timeout: time.Second},
		{Scope: "s", To: "a", Actor: "ops", Timeout: time.Second},
		{Scope: "t", Actor: "ops", Timeout: time.Second},
	} {
		_, err := pgmint.Ask(t.Context(), cfg, bad, note)
		if bad.Scope == "t" && !errors.Is(err, pgmint.ErrNobodyLeads) || bad.Scope == "s" && !errors.As(err, &candidate) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// F6: with no time said the leader's own counts; what took longer is told apart.
func TestDrainWithTheLeadersOwnTime(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	stuck, free := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(free) })
	a := obedient(t, db.URL, "a", election.Role{Lead: func(ctx context.Context, _ election.Leadership) error {
		<-ctx.Done()
		close(stuck)
		<-free
		return nil
	}}, func(c *election.Config) { c.DrainTimeout = 100 * time.Millisecond })
	wait(t, a, fence.Act)
	_, err := pgmint.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgmint.Request{Scope: "s", Actor: "ops"}, func(string) {})
	<-stuck
	var failed *pgmint.FailedError
	if !errors.Is(err, election.ErrDrainTimeout) || !errors.As(err, &failed) || failed.Holder != "a" {
		t.Errorf("%v", err)
	}
}

// A leader that dies with the request in hand answers nobody: whoever asked is told
// within seconds, however long the acts might have taken.
func TestALeaderThatDiesWithARequest(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	m := newMint(t, db.URL)
	a := candidate(t, m, "a", time.Minute, election.Strict)
	lead(t, a, "s", time.Minute)
	c := db.Connect(t)
	answered := make(chan error, 1)
	go func() {
		_, err := pgmint.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgmint.Request{Scope: "s", Actor: "ops", Timeout: time.Hour}, func(string) {})
		answered <- err
	}()
	pgtest.Eventually(t, 10*time.Second, "the request to be taken", func() bool {
		tag, err := c.Exec(t.Context(), `UPDATE conch.command SET state = 'taken'`)
		return err == nil && tag.RowsAffected() == 1
	})
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var unanswered *pgmint.UnansweredError
	if err := <-answered; !errors.As(err, &unanswered) || !unanswered.Taken {
		t.Errorf("%v", err)
	}
}

// A request that nobody takes is withdrawn: nobody does it later.
func TestUnansweredCommandIsWithdrawn(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	deaf, _ := elector(t, db.URL, "deaf", 3*time.Second)
	wait(t, deaf, fence.Act)
	var unanswered *pgmint.UnansweredError
	_, err := pgmint.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgmint.Request{Scope: "s", Actor: "ops", Timeout: time.Millisecond}, func(string) {})
	if !errors.As(err, &unanswered) || unanswered.Taken || unanswered.Holder != "deaf" {
		t.Fatalf("%v", err)
	}
	var state string
	if err := db.Connect(t).QueryRow(t.Context(), `SELECT state FROM conch.command`).Scan(&state); err != nil || state != "expired" {
		t.Errorf("the row is %q, %v", state, err)
	}
}

// silence stops the backend of a line that rests: nothing comes over it any more.
func silence(t *testing.T, c *pgx.Conn, which string) {
	t.Helper()
	var pid int
	pgtest.Eventually(t, 10*time.Second, "the line to rest", func() bool {
		return c.QueryRow(t.Context(), `SELECT pid FROM pg_stat_activity
			WHERE datname = current_database() AND state = 'idle' AND `+which).Scan(&pid) == nil
	})
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
}

// A server that falls silent, as one does that a failover left behind, keeps commands
// from being heard for seconds, not until TCP gives the line up.
func TestCommandsOverASilentLine(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	a := obedient(t, db.URL, "a", election.Role{})
	wait(t, a, fence.Act)
	silence(t, db.Connect(t), `application_name = 'conch commands' AND query LIKE '%FROM conch.command%'`)
	pgtest.Eventually(t, 30*time.Second, "a drain", func() bool {
		_, err := pgmint.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgmint.Request{Scope: "s", Actor: "ops"}, func(string) {})
		return err == nil
	})
}

// Whoever asks is told, and does not wait for ever, when nobody can know whether the
// leader has taken the request: it is not carried out.
func TestARequestThatWasPerhapsTaken(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	cfg := pgmint.Config{URL: db.URL}
	a := obedient(t, db.URL, "a", election.Role{})
	wait(t, a, fence.Act)
	c := db.Connect(t)
	if _, err := c.Exec(t.Context(), `CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN IF NEW.state = 'taken' THEN PERFORM pg_advisory_lock(42); END IF; RETURN NULL; END $$;
		CREATE TRIGGER stall AFTER UPDATE ON conch.command FOR EACH ROW EXECUTE FUNCTION stall();
		SELECT pg_advisory_lock(42)`); err != nil {
		t.Fatal(err)
	}
	var failed *pgmint.FailedError
	if _, err := pgmint.Ask(t.Context(), cfg, pgmint.Request{Scope: "s", Actor: "ops"}, func(string) {}); !errors.As(err, &failed) {
		t.Errorf("%v", err)
	}
	if !a.Gate("s").IsOpen(fence.Act) {
		t.Error("it was carried out")
	}
	// The same where the server has carried the statement out and only its answer was lost.
	var id int64
	if err := c.QueryRow(t.Context(), `INSERT INTO conch.command (scope, epoch, verb, actor, timeout_ms, state)
		VALUES ('t', 1, 'drain', 'ops', 0, 'taken') RETURNING id`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	var state string
	if !pgmint.Disown(t.Context(), cfg, id) || c.QueryRow(t.Context(), `SELECT state FROM conch.command WHERE id = $1`, id).Scan(&state) != nil || state != "failed" {
		t.Errorf("the row is %q", state)
	}
}
