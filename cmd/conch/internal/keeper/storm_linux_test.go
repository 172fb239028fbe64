package keeper_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

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
