package keeper_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// runs is what conch says once it knows that the command has begun; before that it takes no
// signal for one that the command heard. The command's own word may come first.
const runs = "the command runs"

// Ctrl-C is for the command, which heard it too: it ends in its own way and is not
// told anything else.
func TestTypedIsEnough(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := newScreen(t)
	p := s.on(db, `trap 'trap "exit 7" INT; sleep 2; exit 6' INT; trap 'exit 5' TERM; echo ready; `+idle, "--stop-grace", "1h", "--log-level", "info", "--lease", "3s")
	s.shows("ready")
	s.shows(runs)
	s.types("\x03")
	if code := p.end(); code != 6 {
		t.Errorf("exit code %d", code)
	}
}

// What looks like Ctrl-C and was sent to conch alone, by kill or docker kill, has not
// reached the command: it gets SIGTERM before it is killed.
func TestInterruptedButNotTyped(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := newScreen(t)
	p := s.on(db, `trap 'exit 5' TERM; echo ready; `+idle, "--stop-grace", "16s", "--log-level", "info")
	s.shows("ready")
	s.shows(runs)
	_ = unix.Kill(child(t, p.Cmd.Process.Pid), unix.SIGINT)
	if code := p.end(); code != 5 {
		t.Errorf("exit code %d", code)
	}
}

// A hangup reaches conch alone where it has no shell above it, or by kill.
func TestHungUp(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := newScreen(t)
	p := s.on(db, `trap 'exit 5' HUP; echo ready; `+idle)
	s.shows("ready")
	_ = unix.Kill(child(t, p.Cmd.Process.Pid), unix.SIGHUP)
	if code := p.end(); code != 5 {
		t.Errorf("exit code %d", code)
	}
}

// Nothing is typed at a job in the background: whatever it gets is passed on.
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
		t.Errorf("exit code %d", code)
	}
}

// Ctrl-C while the keeper begins: no command has heard it, so none is left to go on
// until it is killed.
func TestTypedTooEarly(t *testing.T) {
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
		t.Errorf("exit code %d", code)
	}
}
