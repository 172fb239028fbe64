package keeper_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// line is one line that runSeveral prints.
type line struct {
	Command int // its index; -1: runSeveral itself
	Early   time.Duration
	keeper.Report
}

// runSeveral runs several shell scripts, each under its own keeper, as a node with several roles does,
// with one deadline for all. It prints what the keepers report, and how long before the deadline.
// It also starts two unrelated children, one older and one younger than the keepers, and prints their
// numbers. At the end of its stdin it asks the commands to end. It is a separate process, so
// that its keepers' faults do not reach other children of the tests.
func runSeveral(args []string) {
	var mu sync.Mutex
	say := func(t line) {
		text, err := json.Marshal(t)
		if err != nil {
			panic(err)
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(string(text))
	}
	start := func() *exec.Cmd {
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		say(line{Command: -1, Report: keeper.Report{PID: cmd.Process.Pid}})
		return cmd
	}
	within, err := time.ParseDuration(args[0])
	if err != nil {
		panic(err)
	}
	deadline := fence.Boottime().Add(within)
	unrelated := []*exec.Cmd{start()}
	var keepers []*keeper.Keeper
	for i, script := range args[1:] {
		k, err := keeper.Keep(keeper.Config{
			Options: keeper.Options{Command: []string{"sh", "-c", script}, Grace: within / 2},
			Env:     slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, severalEnv) }),
			Stderr:  os.Stderr,
			Report:  func(r keeper.Report) { say(line{Command: i, Early: deadline.Sub(fence.Boottime()), Report: r}) },
		})
		if err != nil {
			panic(err)
		}
		keepers = append(keepers, k)
	}
	unrelated = append(unrelated, elsewhere(start))
	for _, k := range keepers {
		k.Deadline(deadline)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		for _, k := range keepers {
			k.End(2 * time.Second)
		}
	}()
	for _, k := range keepers {
		<-k.Done()
	}
	for _, s := range unrelated {
		alive := s.Process.Signal(unix.SIGTERM) == nil
		_ = s.Wait()
		how, _ := s.ProcessState.Sys().(syscall.WaitStatus)
		if !alive || how.Signal() != unix.SIGTERM {
			say(line{Command: -1, Report: keeper.Report{Error: fmt.Sprintf("the unrelated child %d ended too early: %v", s.Process.Pid, how)}})
		}
	}
}

// elsewhere calls a function on a thread that is not the main one.
func elsewhere(start func() *exec.Cmd) *exec.Cmd {
	done := make(chan *exec.Cmd)
	go func() {
		runtime.LockOSThread() // for good: the process that it starts dies with the thread
		if unix.Gettid() == os.Getpid() {
			done <- elsewhere(start)
		} else {
			done <- start()
		}
		select {}
	}()
	return <-done
}

// several is a process of runSeveral under test.
type several struct {
	*process
	unrelated []int
	seen      []line
}

func startSeveral(t *testing.T, within time.Duration, env []string, scripts ...string) *several {
	t.Helper()
	cmd := marks(t, exec.Command(os.Args[0], append([]string{within.String()}, scripts...)...))
	cmd.Env = append(append(cmd.Env, severalEnv+"=1"), env...)
	return &several{process: begin(t, cmd)}
}

// reports waits for a report of one command, and returns it. ok is false if the process ends first.
func (h *several) reports(command int, kind keeper.Kind) (found line, ok bool) {
	h.Helper()
	for _, t := range h.seen {
		if t.Command == command && t.Kind == kind {
			return t, true
		}
	}
	timeout := time.After(patience)
	for {
		select {
		case text, more := <-h.Lines:
			if !more {
				return found, false
			}
			var t line
			if err := json.Unmarshal([]byte(text), &t); err != nil {
				h.Fatalf("%v in %q", err, text)
			}
			switch {
			case t.Error != "":
				h.Error(t.Error)
			case t.Command < 0:
				h.unrelated = append(h.unrelated, t.PID)
			}
			h.seen = append(h.seen, t)
			if t.Command == command && t.Kind == kind {
				return t, true
			}
		case <-timeout:
			h.Fatalf("no report %q of command %d, only %+v", kind, command, h.seen)
		}
	}
}

// over waits for the end of the process, and demands that nothing of it is left.
func (h *several) over() {
	h.Helper()
	h.reports(-2, "")
	h.end()
}

// tree returns a process and its descendants.
func tree(pid int) []int {
	all := []int{pid}
	for _, kid := range children(pid) {
		all = append(all, tree(kid)...)
	}
	return all
}

// hard is a script that leaves processes behind in every way: a daemon in its own session, without
// parents, deaf to every signal that can be ignored, and a process group.
const hard = `setsid sh -c 'trap "" TERM HUP INT; (trap "" TERM HUP INT; setsid sleep 1000 & sleep 1000) & sleep 1000' & (setsid sleep 1000 &) ; sleep 1000`

// All descendants of a keeper that gets SIGKILL are gone before Empty is reported. Another command
// of the same process, its descendants and the unrelated children go on, and end with their own exit codes.
func TestOneKeeperKilledAmongSeveral(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for name, script := range map[string]string{"daemons": hard, "storm": `STORM='[ -e "$ALIVE" ] && setsid sh -c "$STORM" &'; export STORM; ` + hundred} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alive := aliveFile(t)
			h := startSeveral(t, 10*patience, []string{"ALIVE=" + alive, keeper.NoCgroup + "=1"}, script,
				`setsid sleep 1000 & trap 'exit 7' TERM; `+idle)
			var mains [2]int
			for i := range mains {
				r, _ := h.reports(i, keeper.Running)
				mains[i] = r.PID
			}
			pgtest.Eventually(t, patience, "both have children", func() bool { return len(tree(mains[0])) > 3 && len(tree(mains[1])) > 2 })
			victims := tree(parent(t, mains[0]))
			_ = unix.Kill(parent(t, mains[0]), unix.SIGKILL)
			if _, ok := h.reports(0, keeper.Empty); !ok {
				t.Fatal("it ended without a word")
			}
			for _, pid := range victims {
				if s := state(pid); s != "" {
					t.Errorf("process %d of the killed keeper is in state %s, want none", pid, s)
				}
			}
			for _, pid := range marked(t) {
				if !slices.Contains(tree(h.Cmd.Process.Pid), pid) && state(pid) != "" { // unless it was about to end
					t.Errorf("process %d is alive and no descendant of runSeveral", pid)
				}
			}
			if left := tree(h.Cmd.Process.Pid); len(left) < 6 || !slices.Contains(left, mains[1]) || len(h.unrelated) != 2 ||
				!slices.Contains(left, h.unrelated[0]) || !slices.Contains(left, h.unrelated[1]) {
				t.Errorf("processes %v are left; want among them the other command, %d, and two unrelated children, %v", left, mains[1], h.unrelated)
			}
			_ = h.stdin.Close()
			if r, _ := h.reports(1, keeper.MainExited); r.Code != 7 || r.Cause != keeper.Ended {
				t.Errorf("the other command ended with %+v, want code 7", r)
			}
			h.over()
			if a, _ := h.reports(0, keeper.KeeperDied); a.Kind == "" {
				t.Error("no report says that the keeper is dead")
			}
		})
	}
}

// When two keepers are killed at once, each tree is reported empty only when it is.
func TestTwoKeepersKilledAtOnce(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for range 5 {
		h := startSeveral(t, 10*patience, []string{keeper.NoCgroup + "=1"}, hard, hard, `echo third >&2; trap 'exit 3' TERM; `+idle)
		var keepers, victims []int
		for i := range 3 {
			r, _ := h.reports(i, keeper.Running)
			keepers = append(keepers, parent(t, r.PID))
			least := []int{4, 4, 2}[i] // the third sets its trap before it has a child
			pgtest.Eventually(t, patience, "it has children", func() bool { return len(tree(r.PID)) >= least })
		}
		victims = append(tree(keepers[0]), tree(keepers[1])...)
		_ = unix.Kill(keepers[0], unix.SIGKILL)
		_ = unix.Kill(keepers[1], unix.SIGKILL)
		for i := range 2 {
			if _, ok := h.reports(i, keeper.Empty); !ok {
				t.Fatal("it ended without a word")
			}
			for _, pid := range tree(h.Cmd.Process.Pid) {
				if slices.Contains(victims, pid) && (i == 1 || slices.Contains(tree(keepers[0]), pid)) {
					t.Errorf("process %d of a killed keeper is in state %s, want none", pid, state(pid))
				}
			}
		}
		_ = h.stdin.Close()
		if r, _ := h.reports(2, keeper.MainExited); r.Code != 3 {
			t.Errorf("the third command ended with %+v, want code 3", r)
		}
		h.over()
	}
}

func parent(t *testing.T, pid int) int {
	t.Helper()
	number, err := strconv.Atoi(stat(t, pid)[1])
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// storms are hard to catch, each in its own way: a hundred processes, each of which starts a
// successor and exits. Without the file ALIVE they end, in case they get away.
var storms = map[string]string{
	"one group":      `[ -e "$ALIVE" ] && sh -c "$STORM" &`,
	"a session each": `[ -e "$ALIVE" ] && setsid sh -c "$STORM" &`,
	"deaf":           `trap '' TERM HUP INT; [ -e "$ALIVE" ] && setsid sh -c "$STORM" &`,
	"revived":        `while [ -e "$ALIVE" ]; do setsid sleep 9; done`,
}

const hundred = `for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5 6 7 8 9 10; do setsid sh -c "$STORM" & done; done; sleep 60`

// Nothing is left of a fork storm at its deadline. On a machine that starves the keeper, conch
// kills the keeper and does its work.
func TestForkStorm(t *testing.T) {
	runtest.LongRun(t)
	for name, script := range storms {
		for _, how := range []string{"walk", "cgroup"} {
			t.Run(name+" "+how, func(t *testing.T) {
				env := []string{"ALIVE=" + aliveFile(t), "STORM=" + script}
				if how == "walk" {
					env = append(env, keeper.NoCgroup+"=1")
				}
				storm(t, env)
			})
		}
	}
}

// aliveFile makes the file without which a storm ends by itself.
func aliveFile(t *testing.T) string {
	t.Helper()
	alive := filepath.Join(t.TempDir(), "alive")
	if err := os.WriteFile(alive, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(alive) })
	return alive
}

func storm(t *testing.T, env []string) {
	t.Helper()
	h := startSeveral(t, 3*time.Second, env, hundred)
	if _, ok := h.reports(0, keeper.Running); !ok {
		t.Skip("this machine is too busy to begin a storm within its deadline")
	}
	empty, _ := h.reports(0, keeper.Empty)
	if pids := marked(t); len(pids) > 3 { // the parent of the keepers and its two unrelated children
		t.Errorf("%d processes are left, want at most 3", len(pids))
	}
	h.wait()
	gone, _ := h.reports(0, keeper.MainExited)
	abandoned, late := h.reports(0, keeper.KeeperDied)
	if empty.Early <= 0 || !late && gone.Cause != keeper.Late {
		t.Errorf("empty %s before the deadline, %+v %+v", empty.Early, gone, abandoned)
	}
	t.Logf("empty %s before the deadline, by conch: %t", empty.Early.Round(time.Millisecond), late)
}

// A control group that is made is used, and removed.
func TestCgroupsAreRemoved(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	p := begin(t, sh(t, db, `cat /proc/self/cgroup; echo up; cat`))
	var lines []string
	for line := range p.Lines {
		if line == "up" {
			break
		}
		lines = append(lines, line)
	}
	pid := child(t, p.Cmd.Process.Pid)
	if !strings.Contains(strings.Join(lines, "\n"), fmt.Sprintf("conch-%d", pid)) {
		t.Skip("no control group of version 2 can be made here")
	}
	_ = unix.Kill(pid, unix.SIGKILL) // conch removes what the keeper cannot
	p.send(unix.SIGTERM)
	_ = p.stdin.Close()
	_ = p.end()
	left, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/*/conch-%d", pid))
	own, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/conch-%d", pid))
	if len(left)+len(own) > 0 {
		t.Errorf("left behind: %v %v", left, own)
	}
}
