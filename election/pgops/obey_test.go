package pgops_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// obedient runs an elector for scope "s" that obeys requests.
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
	go func() { pgops.Obey(ctx, pgmint.Config{URL: url}, id, e); done <- struct{}{} }()
	t.Cleanup(func() { cancel(); <-done; <-done })
	return e
}

// F6, S33: drain and transfer with access to the database alone. The successor of a transfer
// is warmed before the release, and the history names the actor.
func TestRequests(t *testing.T) {
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
	pgtest.Eventually(t, 10*time.Second, "both to listen for requests", func() bool {
		var n int
		return c.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'conch commands'`).Scan(&n) == nil && n == 4 &&
			b.Snapshot()[0].Holder == "a"
	})
	var steps []string
	note := func(s string) { steps = append(steps, s) }
	began := time.Now()
	if _, err := pgops.Ask(t.Context(), cfg, pgops.Request{Scope: "s", To: "b", Actor: "ops", Timeout: 5 * time.Second}, note); err != nil {
		t.Fatal(err, steps)
	}
	wait(t, b, fence.Act)
	t.Logf("transfer: %s from Ask to the successor's act door; %q", time.Since(began), steps)
	// Steps may pass faster than Ask reads them, but it never misses the last one.
	if warmed.Load() != 1 || len(steps) < 2 || steps[len(steps)-1] != "done" {
		t.Errorf("the successor was warmed %d times, want once; the steps are %q, want done as the last", warmed.Load(), steps)
	}
	if _, err := pgops.Ask(t.Context(), cfg, pgops.Request{Scope: "s", Actor: "ops", Timeout: 5 * time.Second}, note); err != nil {
		t.Fatal(err)
	}
	wait(t, a, fence.Act)
	o := observe(t, db.URL)
	if s := status(t, o, "s"); !s.Held || s.Holder != "a" || s.Epoch != 3 || s.HeartbeatAt == nil || !slices.Equal(s.Candidates, []string{"a", "b"}) {
		t.Errorf("got the status %+v, want a to hold epoch 3, with heartbeats, and a and b as candidates", s)
	}
	events, err := o.History(t.Context(), "s", 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, e.Event+" "+e.Actor)
	}
	if want := "acquired , transferred ops, acquired , drained ops, acquired "; strings.Join(got, ", ") != want {
		t.Errorf("got the history %q, want %q", got, want)
	}
	var candidate *pgops.CandidateError
	for _, bad := range []pgops.Request{
		{Scope: "s", To: "nobody", Actor: "ops", Timeout: time.Second},
		{Scope: "s", To: "a", Actor: "ops", Timeout: time.Second},
		{Scope: "t", Actor: "ops", Timeout: time.Second},
	} {
		_, err := pgops.Ask(t.Context(), cfg, bad, note)
		if bad.Scope == "t" && !errors.Is(err, pgops.ErrNobodyLeads) || bad.Scope == "s" && !errors.As(err, &candidate) {
			t.Errorf("%+v: got %v, want ErrNobodyLeads for scope t and a CandidateError for scope s", bad, err)
		}
	}
}

// F6: a request without a timeout gets the leader's own, and a drain that took longer is
// an error of its own.
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
	_, err := pgops.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgops.Request{Scope: "s", Actor: "ops"}, func(string) {})
	<-stuck
	var failed *pgops.FailedError
	if !errors.Is(err, election.ErrDrainTimeout) || !errors.As(err, &failed) || failed.Holder != "a" {
		t.Errorf("got %v, want a FailedError of a that is ErrDrainTimeout", err)
	}
}

// A leader that dies after it took a request never answers it: Ask returns within seconds,
// however long the acts might have taken.
func TestALeaderThatDiesWithARequest(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	m := newMint(t, db.URL)
	a := candidate(t, m, "a", time.Minute, mint.Strict)
	lead(t, a, "s", time.Minute)
	c := db.Connect(t)
	answered := make(chan error, 1)
	go func() {
		_, err := pgops.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgops.Request{Scope: "s", Actor: "ops", Timeout: time.Hour}, func(string) {})
		answered <- err
	}()
	pgtest.Eventually(t, 10*time.Second, "the request to be taken", func() bool {
		tag, err := c.Exec(t.Context(), `UPDATE conch.command SET state = 'taken'`)
		return err == nil && tag.RowsAffected() == 1
	})
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var unanswered *pgops.UnansweredError
	if err := <-answered; !errors.As(err, &unanswered) || !unanswered.Taken {
		t.Errorf("got %v, want an UnansweredError of a request that was taken", err)
	}
}

// A request that nobody takes is withdrawn, so that nobody carries it out later.
func TestUnansweredRequestIsWithdrawn(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	deaf, _ := elector(t, db.URL, "deaf", 3*time.Second)
	wait(t, deaf, fence.Act)
	var unanswered *pgops.UnansweredError
	_, err := pgops.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgops.Request{Scope: "s", Actor: "ops", Timeout: time.Millisecond}, func(string) {})
	if !errors.As(err, &unanswered) || unanswered.Taken || unanswered.Holder != "deaf" {
		t.Fatalf("got %v, want an UnansweredError of a request to deaf that was not taken", err)
	}
	var state string
	if err := db.Connect(t).QueryRow(t.Context(), `SELECT state FROM conch.command`).Scan(&state); err != nil || state != "expired" {
		t.Errorf("the request is %q, %v, want expired", state, err)
	}
}

// silence stops the backend of an idle connection: nothing comes over it any more.
func silence(t *testing.T, c *pgx.Conn, which string) {
	t.Helper()
	var pid int
	pgtest.Eventually(t, 10*time.Second, "the connection to be idle", func() bool {
		return c.QueryRow(t.Context(), `SELECT pid FROM pg_stat_activity
			WHERE datname = current_database() AND state = 'idle' AND `+which).Scan(&pid) == nil
	})
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
}

// A server that falls silent, as after a failover that left it behind, delays requests for
// seconds, and not until TCP gives up its connection.
func TestRequestsOverASilentLine(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	a := obedient(t, db.URL, "a", election.Role{})
	wait(t, a, fence.Act)
	silence(t, db.Connect(t), `application_name = 'conch commands' AND query LIKE '%FROM conch.command%'`)
	pgtest.Eventually(t, 30*time.Second, "a drain", func() bool {
		_, err := pgops.Ask(t.Context(), pgmint.Config{URL: db.URL}, pgops.Request{Scope: "s", Actor: "ops"}, func(string) {})
		return err == nil
	})
}

// When nobody can know whether the leader took a request, it is not carried out, and Ask
// returns.
func TestARequestThatWasPerhapsTaken(t *testing.T) {
	runtest.LongRun(t)
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
	var failed *pgops.FailedError
	if _, err := pgops.Ask(t.Context(), cfg, pgops.Request{Scope: "s", Actor: "ops"}, func(string) {}); !errors.As(err, &failed) {
		t.Errorf("got %v, want a FailedError", err)
	}
	if !a.Gate("s").IsOpen(fence.Act) {
		t.Error("the request was carried out, want it left alone")
	}
	// The same if the server took the request and only its answer was lost.
	var id int64
	if err := c.QueryRow(t.Context(), `INSERT INTO conch.command (scope, epoch, verb, actor, timeout_ms, state)
		VALUES ('t', 1, 'drain', 'ops', 0, 'taken') RETURNING id`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	var state string
	if !pgops.Disown(t.Context(), cfg, id) || c.QueryRow(t.Context(), `SELECT state FROM conch.command WHERE id = $1`, id).Scan(&state) != nil || state != "failed" {
		t.Errorf("the request is %q, want failed", state)
	}
}
