//go:build unix

package pgmint_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

// crowd is an elector for many scopes in a process, the test binary, that a test can kill.
type crowd struct {
	ID     string
	URL    string
	Locks  pgmint.Locks
	Scopes int
	Lease  time.Duration
}

const crowdEnv = "CONCH_TEST_CROWD"

// standing is what a crowd reports of itself.
type standing struct {
	Led, Entered, Following int
	Late                    int // late gates and lost sessions, since the machine was too busy
	CPU                     time.Duration
}

// beCrowd runs a crowd until SIGTERM, and prints its standing on standard output.
func beCrowd(text string) int {
	var c crowd
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		panic(err)
	}
	mint, err := pgmint.New(pgmint.Config{URL: c.URL, Locks: c.Locks})
	if err != nil {
		panic(err)
	}
	book := newLedger()
	cfg := election.Config{Mint: mint, ID: c.ID, Lease: c.Lease, Logger: slog.New(slog.DiscardHandler)}
	cfg.Events.Fact = book.hear
	for i := range c.Scopes {
		cfg.Roles = append(cfg.Roles, election.Role{Scope: fmt.Sprintf("scope-%05d", i)})
	}
	e, err := election.New(cfg)
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
			var used syscall.Rusage
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
			s := book.standing()
			s.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano())
			if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
				return
			}
		}
	}()
	if err := e.Run(ctx); err != nil {
		return 1
	}
	return 0
}

// running is a crowd as its test sees it.
type running struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	last standing
	over chan struct{}
}

func (c crowd) start(t testing.TB) *running {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{cmd: exec.CommandContext(t.Context(), os.Args[0]), over: make(chan struct{})}
	r.cmd.Env = append(os.Environ(), crowdEnv+"="+string(text))
	r.cmd.Stderr = os.Stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.over)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var s standing
			if json.Unmarshal(lines.Bytes(), &s) == nil {
				r.mu.Lock()
				r.last = s
				r.mu.Unlock()
			}
		}
		_ = r.cmd.Wait()
	}()
	t.Cleanup(r.kill)
	return r
}

func (r *running) kill() {
	_ = r.cmd.Process.Kill()
	<-r.over
}

func (r *running) standing() standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// big starts a server that counts statements, with a role for each process.
func big(t testing.TB, settings map[string]string) (base string, as func(role string) string) {
	t.Helper()
	set := map[string]string{"shared_preload_libraries": "pg_stat_statements"}
	maps.Copy(set, settings)
	srv := pgtest.Own(t, postmaster.Config{Settings: set})
	base = srv.URL("postgres")
	if err := pgmint.Up(t.Context(), pgmint.Config{URL: base}, nil); err != nil {
		t.Fatal(err)
	}
	c := pgtest.Connect(t, pg.Config{URL: base})
	run(t, c, `CREATE EXTENSION pg_stat_statements`)
	for _, role := range []string{"a", "b"} {
		run(t, c, `CREATE ROLE `+role+` LOGIN SUPERUSER`)
	}
	return base, func(role string) string {
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.User(role)
		return u.String()
	}
}

// calls returns how many statements a role has sent, as the server counts them.
func calls(t testing.TB, c *pgx.Conn, role string) (n int64) {
	t.Helper()
	if err := c.QueryRow(t.Context(), `SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements WHERE toplevel AND userid = $1::regrole`, role).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// crowded returns the number of scopes of TestThousandsOfScopes.
func crowded() int {
	return runtest.ByDay(2_000, 10_000)
}

// S5: thousands of scopes in two processes, ten thousand under CONCH_NIGHTLY. At rest each sends a few statements a second. If one is
// killed with -9, the other leads all scopes, with open act doors, within a lease and two seconds.
func TestThousandsOfScopes(t *testing.T) {
	runtest.LongRun(t)
	t.Run("process", func(t *testing.T) { scale(t, pgmint.ProcessLocks, crowded(), nil) })
	t.Run("session", func(t *testing.T) {
		if !runtest.Nightly() {
			t.Skip("ten thousand scopes are for ProcessLocks; with SessionLocks only under CONCH_NIGHTLY=1")
		}
		scale(t, pgmint.SessionLocks, crowded(), map[string]string{"max_locks_per_transaction": "1024"})
	})
}

// The same for a few scopes, with both kinds of locks.
func TestStatementsAtRest(t *testing.T) {
	if !runtest.Nightly() {
		t.Skip("TestThousandsOfScopes counts the statements; these only under CONCH_NIGHTLY=1")
	}
	for _, scopes := range []int{1, 100} {
		for _, locks := range []pgmint.Locks{pgmint.SessionLocks, pgmint.ProcessLocks} {
			t.Run(fmt.Sprint(scopes, " ", locks), func(t *testing.T) { scale(t, locks, scopes, nil) })
		}
	}
}

func scale(t *testing.T, locks pgmint.Locks, scopes int, settings map[string]string) {
	t.Helper()
	const lease = 3 * time.Second
	const patience = 5 * time.Minute // a process that loses its session on a busy machine begins again
	base, as := big(t, settings)
	c := pgtest.Connect(t, pg.Config{URL: base})
	began := time.Now()
	a := crowd{ID: "a", URL: as("a"), Locks: locks, Scopes: scopes, Lease: lease}.start(t)
	pgtest.Eventually(t, patience, "the first process to lead everything", func() bool { return a.standing().Entered == scopes })
	first := time.Since(began)
	b := crowd{ID: "b", URL: as("b"), Locks: locks, Scopes: scopes, Lease: lease}.start(t)
	pgtest.Eventually(t, patience, "the second process to follow all", func() bool { return b.standing().Following == scopes })
	atRest(t, c, map[string]*running{"a": a, "b": b})

	began = time.Now()
	_ = a.cmd.Process.Kill()
	var minted time.Duration
	pgtest.Eventually(t, patience, "the other process to lead everything", func() bool {
		s := b.standing()
		if minted == 0 && s.Led == scopes {
			minted = time.Since(began)
		}
		return s.Entered == scopes
	})
	took := time.Since(began)
	t.Logf("%d scopes, locks by %s: won from nothing in %s; after kill -9 all minted in %s, all act doors open in %s", scopes, locks, first, minted, took)
	// The machine and its load decide how fast scopes are won, so the first time is the measure.
	if limit := lease + max(2*time.Second, 4*first); took > limit {
		t.Errorf("moving %d scopes took %s, want at most a lease of %s and 2s, or four times the %s that it took to win them first", scopes, took, lease, first)
	}
	if late := b.standing().Late; late > 0 {
		t.Logf("a gate was late %d times while the other scopes were being won", late)
	}
}

// atRest counts the statements of ten idle seconds.
func atRest(t *testing.T, c *pgx.Conn, processes map[string]*running) {
	t.Helper()
	for range 4 {
		if rested(t, c, processes) {
			return
		}
	}
	t.Error("this machine never let the processes rest")
}

// rested reports whether no heartbeat was late meanwhile: a process that lost its session for want of
// processor time is not at rest.
func rested(t *testing.T, c *pgx.Conn, processes map[string]*running) bool {
	t.Helper()
	const span = 10 * time.Second
	late := func() (n int) {
		for _, r := range processes {
			n += r.standing().Late
		}
		return n
	}
	shaken := late()
	before, cpu := map[string]int64{}, map[string]time.Duration{}
	began := time.Now()
	for role, r := range processes {
		before[role], cpu[role] = calls(t, c, role), r.standing().CPU
	}
	pgtest.Eventually(t, 2*span, "time to pass", func() bool { return time.Since(began) > span })
	if late() != shaken {
		return false
	}
	for role, r := range processes {
		rate := float64(calls(t, c, role)-before[role]) / time.Since(began).Seconds()
		used := float64(r.standing().CPU-cpu[role]) / float64(time.Since(began))
		t.Logf("%s at rest: %.1f statements and %.1f %% of a processor a second", role, rate, 100*used)
		if rate > 5 {
			t.Errorf("%s sends %.1f statements a second at rest, want at most 5", role, rate)
		}
	}
	return true
}
