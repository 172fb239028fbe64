package keeper_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

const (
	lifeEnv    = "CONCH_TEST_LIFE" // makes the test binary a command
	dirEnv     = "CONCH_TEST_DIR"
	markEnv    = "CONCH_TEST_MARK"
	severalEnv = "CONCH_TEST_SEVERAL" // makes it run several keepers, whose commands are its arguments
	shellEnv   = "CONCH_TEST_SHELL"   // makes it a shell that runs its arguments as a job; see background
	holdEnv    = "CONCH_TEST_HOLD"    // names a pipe; a keeper begins when the writer has closed it
	patience   = 30 * time.Second
)

// TestMain makes the test binary everything that the tests start: conch, keepers and commands.
func TestMain(m *testing.M) {
	if os.Getenv(shellEnv) != "" {
		os.Exit(shell())
	}
	if path := os.Getenv(holdEnv); path != "" && len(os.Args) > 1 && os.Args[1] == keeper.Command {
		_, _ = os.ReadFile(path)
	}
	if len(os.Args) > 1 && (os.Args[1] == "run" || os.Args[1] == keeper.Command || os.Args[1] == keeper.InitCommand) {
		os.Exit(cli.Main(os.Args[1:], cli.System(), cli.Conch(cli.Build{}, nil)))
	}
	if os.Getenv(severalEnv) != "" {
		runSeveral(os.Args[1:])
		return
	}
	if life := os.Getenv(lifeEnv); life != "" {
		live(life)
		return
	}
	for _, sig := range []os.Signal{unix.SIGHUP, unix.SIGINT} {
		if signal.Ignored(sig) { // the tests run under nohup or in the background, which conch must not obey
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	runtest.AtOnce(8) // most have several processes, whose leases are short
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		return pgmint.Up(ctx, pgmint.Config{URL: conn.Config().ConnString()}, func(string) {})
	})
	pgtest.Main(m)
}

// shell runs conch as a job of its terminal, in the foreground unless told otherwise: the terminal
// cannot stop a job without a shell above it.
func shell() int {
	signal.Ignore(unix.SIGTTOU)
	foreground := os.Getenv(shellEnv) != background
	_ = os.Unsetenv(shellEnv)
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: foreground}
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode()
}

const background = "background"

// live runs a command: it appends its acts to a file that nothing protects, and starts a daemon
// that does the same, forked twice, in its own session, deaf to every signal that can be ignored.
func live(life string) {
	switch life {
	case "main":
		spawn("between")
		beat("main")
	case "between":
		spawn("daemon")
	case "daemon":
		signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGINT)
		beat("daemon")
	}
}

func spawn(life string) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), lifeEnv+"="+life)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

func beat(who string) {
	lines, err := evidence.OpenLines(evidence.OutsideFile(os.Getenv(dirEnv)))
	if err != nil {
		panic(err)
	}
	epoch, err := strconv.ParseInt(os.Getenv("CONCH_EPOCH"), 10, 64)
	if err != nil {
		panic(err)
	}
	pid, _ := os.Readlink("/proc/self") // the number outside, even in a PID namespace
	pace := time.NewTicker(3 * time.Millisecond)
	for range pace.C {
		now := fence.Boottime()
		err := lines.Append(evidence.Act{
			Start: now, End: fence.Boottime(), Epoch: epoch, Term: os.Getenv("CONCH_TERM"),
			Node: fmt.Sprintf("%s %s %s", os.Getenv("CONCH_ID"), who, pid),
		})
		if err != nil {
			panic(err)
		}
	}
}

// conch returns a conch run that has not started, without the terminal of the tests.
func conch(t *testing.T, db *pgtest.DB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := marks(t, exec.Command(os.Args[0], append([]string{"run"}, args...)...))
	cmd.Env = append(cmd.Env, "CONCH_DB_URL="+db.URL)
	return cmd
}

// marks marks a process that has not started, and its descendants, as this test's.
func marks(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "CONCH_") {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	// The race detector sleeps for a second at each exit unless told not to.
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0", markEnv+"="+mark(t))
	// The parent-death signal is for tests that are killed or time out: without its database,
	// conch would look for it for ever.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL}
	t.Cleanup(func() { sweepMarked(t) })
	return cmd
}

func mark(t *testing.T) string { return strings.ReplaceAll(t.Name(), "/", "-") }

// marked lists the living processes of a test.
func marked(t *testing.T) (pids []int) {
	t.Helper()
	want := "\x00" + markEnv + "=" + mark(t) + "\x00"
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		environ, _ := os.ReadFile(dir + "/environ")
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if strings.Contains("\x00"+string(environ), want) && state(pid) != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// sweepMarked kills what a failed test has left. It may miss a process in the moment after its
// exec, which has no mark yet; what the test itself has started is ended by its handle.
func sweepMarked(t *testing.T) {
	for range 1000 {
		pids := marked(t)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// state returns the kernel's letter for the state of a process, "" when the process is gone.
func state(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return fields[0]
}

// child returns the first child of a process. One look may miss it: the kernel lists children by
// thread, and a thread that ends hands its children to another.
func child(t testing.TB, pid int) (first int) {
	t.Helper()
	pgtest.Eventually(t, patience, fmt.Sprintf("a child of process %d", pid), func() bool {
		kids := children(pid)
		if len(kids) > 0 {
			first = kids[0]
		}
		return first != 0
	})
	return first
}

func children(pid int) (kids []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for word := range strings.FieldsSeq(string(text)) {
			kid, _ := strconv.Atoi(word)
			kids = append(kids, kid)
		}
	}
	return kids
}
