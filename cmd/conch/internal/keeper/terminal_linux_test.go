package keeper_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// screen is a terminal that keeps what it shows.
type screen struct {
	*testing.T
	master, line *os.File
	mu           sync.Mutex
	shown        bytes.Buffer
}

func newScreen(t *testing.T) *screen {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	s := &screen{T: t, master: os.NewFile(uintptr(fd), "ptmx")}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		s.line, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		_ = s.master.Close()
		t.Skipf("no terminal can be made here: %v", err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for buf := make([]byte, 4096); ; {
			n, err := s.master.Read(buf)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.shown.Write(buf[:n])
			s.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = s.line.Close()
		_ = s.master.Close()
		reading.Wait()
	})
	return s
}

func (s *screen) types(text string) {
	s.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.Fatal(err)
	}
}

func (s *screen) shows(text string) {
	s.Helper()
	pgtest.Eventually(s.T, patience, "the terminal shows "+text, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Contains(s.shown.String(), text)
	})
}

// on starts a run as the foreground job of the terminal, below a shell.
func (s *screen) on(db *pgtest.DB, script string, args ...string) *process {
	s.Helper()
	return s.job(sh(s.T, db, script, args...), shellEnv+"=1")
}

func (s *screen) job(cmd *exec.Cmd, env ...string) *process {
	s.Helper()
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.line, s.line, s.line
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0, Pdeathsig: unix.SIGKILL}
	return &process{T: s.T, Process: proctest.Start(s.T, cmd)}
}

// stat returns the fields of /proc/PID/stat from the state on; see proc(5).
func stat(t *testing.T, pid int) []string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// On a terminal the command gets what the user types, Ctrl-C included.
func TestTerminal(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := newScreen(t)
	p := s.on(db, `trap 'echo caught; exit 6' INT; echo "pid $$ ready"; read line; echo "heard $line"; `+idle)
	s.shows(`conch: me leads "s" (epoch 1)`)
	s.shows("ready")
	s.types("hello\n")
	s.shows("heard hello")
	conch := child(t, p.Cmd.Process.Pid)
	keeper := child(t, conch)
	main := child(t, keeper)
	of := stat(t, main) // state ppid pgrp session tty tpgid
	if of[2] != of[5] || of[2] != strconv.Itoa(conch) {
		t.Errorf("the command's process group is %s, want conch's; in the foreground is %s", of[2], of[5])
	}
	if of := stat(t, keeper); of[2] != strconv.Itoa(keeper) {
		t.Errorf("the keeper's process group is %s, want its own, which the terminal does not signal", of[2])
	}
	s.types("\x03")
	s.shows("caught")
	if code := p.end(); code != 6 {
		t.Errorf("exit code %d, want 6", code)
	}
}

// Ctrl-Z stops the command and conch. Before the deadline the keeper kills the stopped command,
// and conch campaigns again when it is resumed.
func TestCtrlZ(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := pgtest.New(t)
	s := newScreen(t)
	p := s.on(db, `echo "begun in $CONCH_EPOCH"; `+idle)
	s.shows("begun in 1") // conch prints its own line before that
	conch := child(t, p.Cmd.Process.Pid)
	main := child(t, child(t, conch))
	s.types("\x1a")
	pgtest.Eventually(t, patience, "conch is stopped", func() bool { return state(conch) == "T" })
	pgtest.Eventually(t, patience, "the keeper kills the stopped command", func() bool { return state(main) == "" })
	if state(conch) != "T" {
		t.Error("conch was not stopped when the command was killed")
	}
	_ = unix.Kill(conch, unix.SIGCONT)
	s.shows("begun in 2")
	s.types("\x03")
	if code := p.end(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}

// Conch repairs the terminal that a killed command leaves in raw mode.
func TestTheTerminalIsRepaired(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := newScreen(t)
	before, err := unix.IoctlGetTermios(int(s.line.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	p := s.on(db, `stty raw -echo; echo ready; kill -9 $$`)
	if code := p.end(); code != 137 {
		t.Errorf("exit code %d, want 137", code)
	}
	s.shows("ready")
	after, err := unix.IoctlGetTermios(int(s.line.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if *after != *before {
		t.Errorf("the terminal's settings were %+v and are %+v", before, after)
	}
}

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
