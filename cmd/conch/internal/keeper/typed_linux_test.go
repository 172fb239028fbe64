package keeper_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// runs is what conch logs once it knows that the command runs. Until then it assumes that the
// command has had no signal from the terminal. The command's own output may come first.
const runs = "the command runs"

// Ctrl-C also reaches the command: it ends in its own way, and conch sends it nothing more.
func TestTypedIsEnough(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := newScreen(t)
	p := s.on(db, `trap 'trap "exit 7" INT; sleep 2; exit 6' INT; trap 'exit 5' TERM; echo ready; `+idle, "--stop-grace", "1h", "--log-level", "info", "--lease", "3s")
	s.shows("ready")
	s.shows(runs)
	s.types("\x03")
	if code := p.end(); code != 6 {
		t.Errorf("exit code %d, want 6", code)
	}
}

// A SIGINT to conch alone, by kill or docker kill, looks like Ctrl-C and has not reached the
// command, which gets SIGTERM before it is killed.
func TestInterruptedButNotTyped(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	s := newScreen(t)
	p := s.on(db, `trap 'exit 5' TERM; echo ready; `+idle, "--stop-grace", "16s", "--log-level", "info")
	s.shows("ready")
	s.shows(runs)
	_ = unix.Kill(child(t, p.Cmd.Process.Pid), unix.SIGINT)
	if code := p.end(); code != 5 {
		t.Errorf("exit code %d, want 5", code)
	}
}

// Conch passes on a hangup, which may have reached conch alone: without a shell above it, or by kill.
func TestHungUp(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	s := newScreen(t)
	p := s.on(db, `trap 'exit 5' HUP; echo ready; `+idle)
	s.shows("ready")
	_ = unix.Kill(child(t, p.Cmd.Process.Pid), unix.SIGHUP)
	if code := p.end(); code != 5 {
		t.Errorf("exit code %d, want 5", code)
	}
}

// Nothing is typed at a background job, so conch passes on every signal.
func TestInTheBackground(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := newScreen(t)
	p := s.job(sh(t, db, `trap 'echo got quit' QUIT; trap 'exit 6' INT; trap 'exit 5' TERM; echo ready; `+idle), shellEnv+"="+background)
	s.shows("ready")
	conch := child(t, p.Cmd.Process.Pid)
	_ = unix.Kill(conch, unix.SIGQUIT)
	s.shows("got quit")
	_ = unix.Kill(conch, unix.SIGINT)
	if code := p.end(); code != 6 {
		t.Errorf("exit code %d, want 6", code)
	}
}

// Ctrl-C while the keeper starts has reached no command, so none may run on until it is killed.
func TestTypedTooEarly(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	s := newScreen(t)
	hold := filepath.Join(t.TempDir(), "hold")
	if err := unix.Mkfifo(hold, 0o600); err != nil {
		t.Fatal(err)
	}
	p := s.job(sh(t, db, idle, "--stop-grace", "20s"), shellEnv+"=1", holdEnv+"="+hold)
	var release *os.File
	pgtest.Eventually(t, patience, "the keeper begins", func() (begun bool) {
		file, err := os.OpenFile(hold, os.O_WRONLY|unix.O_NONBLOCK, 0) // refused while nobody reads
		release = file
		return err == nil
	})
	s.types("\x03")
	s.shows("^C")
	_ = release.Close()
	if code := p.end(); code != 0 && code != 128+int(unix.SIGINT) && code != 128+int(unix.SIGTERM) {
		t.Errorf("exit code %d, want 0, 130 or 143", code)
	}
}
