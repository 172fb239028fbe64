// Black-box tests of the program: its arguments, its output and its exit code.
package main_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
)

// program is the binary under test.
var program string

// building bounds a build or a measurement, which may take minutes.
const building = 10 * time.Minute

func TestMain(m *testing.M) {
	// Beside the test binary, whose folder the go command removes. Git ignores the suffix.
	program = filepath.Join(filepath.Dir(os.Args[0]), "conch-built.test")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	program, _ = filepath.Abs(program)
	http.DefaultClient.Timeout = longPatience // if an answer hangs
	ctx, cancel := context.WithTimeout(context.Background(), building)
	build := exec.CommandContext(ctx, "go", "build", raceFlag, "-o", program,
		"-ldflags", "-X main.version=9.8.7 -X main.commit=abcdef0", ".")
	build.WaitDelay = time.Second
	out, err := build.CombinedOutput()
	cancel()
	if err != nil {
		fmt.Fprintf(os.Stderr, "building conch: %v\n%s", err, out)
		os.Exit(1)
	}
	pgtest.Template(migrate)
	pgtest.Main(m)
}

// result is the outcome of one call of the program.
type result struct {
	out, err string
	code     int
}

// prepared returns a call that has not begun, without the caller's database settings.
func prepared(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, args...)
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
	if _, measured := t.(*testing.B); measured || os.Getenv("CONCH_NIGHTLY") != "" {
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
	if strings.Count(r.err, "\n") != 1 || !strings.HasPrefix(r.err, "conch: ") || strings.Contains(r.err, "goroutine") {
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
