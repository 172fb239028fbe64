// Black-box tests of the program: its arguments, its output and its exit code.
package main_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// program is the binary under test as users get it, and server what stays and serves: by day the same, and in make test-whole
// with the race detector, since its loops and handlers run beside each other. By day the tests of their packages have these raced.
// A command that ends is never raced, nor is the laboratory, a program of its own, whose processes measure.
var program, server, laboratory string

// experiments are the commands of the laboratory that tests give to it themselves, and not to conch.
var experiments = []string{"bench", "chaos", "chaos-child", "demo-node", "sim"}

// building bounds a build or a measurement, which may take minutes.
const building = 10 * time.Minute

func TestMain(m *testing.M) {
	http.DefaultClient.Timeout = longPatience // if an answer hangs
	if signal.Ignored(os.Interrupt) {         // the tests run in the background, which conch must not obey
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	program, laboratory = built("conch", "."), built("conch-lab", "./conch-lab")
	if server = program; runtest.Whole() {
		server = built("conch-raced", ".", raceFlag)
	}
	runtest.AtOnce(8) // most have several processes, whose leases are short
	pgtest.Template(migrate)
	pgtest.Main(m)
}

// built builds a program, with a version and the flags.
func built(name, folder string, flags ...string) string {
	path, err := proctest.Build(name, folder, append(flags, proctest.Stamp...)...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return path
}

// result is the outcome of one call of the program.
type result struct {
	out, err string
	code     int
}

// prepared returns a call that has not begun, without the caller's database settings.
func prepared(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	path := program
	switch {
	case len(args) > 0 && slices.Contains(experiments, args[0]):
		path = laboratory
	case slices.Contains(args, "node") || slices.Contains(args, "run"):
		path = server
	}
	cmd := exec.Command(path, args...)
	cmd.SysProcAttr = ownSession()
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "CONCH_DB") && (!strings.HasPrefix(setting, "PG") || strings.HasPrefix(setting, "PGT")) {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	// The race detector sleeps for a second at each exit unless told not to.
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0")
	return cmd
}

func conch(t testing.TB, args ...string) result {
	t.Helper()
	return call(t, prepared(t, args...))
}

func call(t testing.TB, cmd *exec.Cmd) result {
	t.Helper()
	limit := 5 * time.Minute // if the call hangs
	if _, measured := t.(*testing.B); measured || runtest.Nightly() {
		limit = building // -benchtime decides how long it takes
	}
	return callFor(t, limit, cmd)
}

// callFor runs a call and kills it after limit.
func callFor(t testing.TB, limit time.Duration, cmd *exec.Cmd) result {
	t.Helper()
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	code := proctest.Start(t, cmd).Wait(limit)
	return result{out: out.String(), err: err.String(), code: code}
}

// refused checks that a call ended with the code and one sentence that has all parts.
func (r result) refused(t testing.TB, code int, parts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	if r.out != "" {
		t.Errorf("stdout is %q, want it empty", r.out)
	}
	if strings.Count(r.err, "\n") != 1 || !strings.HasPrefix(r.err, "conch: ") && !strings.HasPrefix(r.err, "conch-lab: ") || strings.Contains(r.err, "goroutine") {
		t.Errorf("stderr is %q, want one sentence", r.err)
	}
	for _, part := range parts {
		if !strings.Contains(r.err, part) {
			t.Errorf("stderr %q does not say %q", r.err, part)
		}
	}
}

// done checks that a call succeeded, and returns its output.
func (r result) done(t testing.TB) string {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("exit code %d, want 0, with stderr %s", r.code, r.err)
	}
	return r.out
}

// migrate makes the schema of the template, with the program itself.
func migrate(ctx context.Context, c *pgx.Conn) error {
	out, err := exec.CommandContext(ctx, program, "--db", c.Config().ConnString(), "migrate", "up").CombinedOutput()
	if err != nil {
		return fmt.Errorf("conch migrate up: %w: %s", err, out)
	}
	return nil
}

// migrated returns a database with the schema, made by the program itself.
func migrated(t testing.TB) *pgtest.DB {
	t.Helper()
	return pgtest.New(t)
}
