package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

// A demo that is killed takes all its processes with it: only the kernel is left to end them.
func TestNothingSurvivesAKilledDemo(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	cmd := withDevnode(t, "--nodes", "3", "--lease", "1s", "--kill-every", "2s")
	scratch := t.TempDir()
	cmd.Env = append(cmd.Env, "TMPDIR="+scratch)
	d := start(t, cmd)
	d.says("has committed")
	family := descendants(t, cmd.Process.Pid)
	nodes, servers, chains := 0, 0, 0
	for _, p := range family {
		switch {
		case strings.Contains(p.command, "demo-node"):
			nodes++
		case strings.Contains(p.command, "postgres"):
			servers++
		case strings.Contains(p.command, "conch-devnode"):
			chains++
		}
	}
	if nodes < 2 || servers < 2 || chains != 1 {
		t.Fatalf("found %d nodes, %d server processes and %d chains among %v; want 2, 2 and 1 or this test shows nothing", nodes, servers, chains, family)
	}
	left := evidenceOf(t, family)
	if _, err := os.Stat(filepath.Join(left, "payer.json")); err != nil {
		t.Fatalf("the demo's keystore was not found, and without it this test shows nothing: %v", err)
	}
	d.stop(syscall.SIGKILL)
	for _, p := range family {
		pgtest.Eventually(t, patience, fmt.Sprintf("the end of %+v", p), func() bool { return !p.alive() })
	}
	pgtest.Own(t, postmaster.Config{}) // its start removes the folders of killed programs
	if _, err := os.Stat(left); err == nil {
		t.Errorf("the folder %s is left, want it removed", left)
	}
	leavesNothing(t, scratch)
}

// evidenceOf returns the folder that the nodes of a demo write to.
func evidenceOf(t *testing.T, family []relative) string {
	t.Helper()
	for _, p := range family {
		words := strings.Fields(p.command)
		for i, w := range words {
			if w == "--dir" && strings.Contains(p.command, "demo-node") {
				return words[i+1]
			}
		}
	}
	return ""
}

// relative is a process. Its start time distinguishes it from a later one with the same id.
type relative struct {
	pid, parent int
	born        string
	command     string
	state       string
}

func descendants(t *testing.T, root int) []relative {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	all := map[int]relative{}
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if p, ok := inspect(pid); ok {
			all[pid] = p
		}
	}
	var family []relative
	for _, p := range all {
		for at := p.parent; at > 1; at = all[at].parent {
			if at == root {
				family = append(family, p)
				break
			}
		}
	}
	return family
}

// inspect reads /proc; see proc(5). The name in stat may contain brackets, so the fields are
// counted from the last one.
func inspect(pid int) (relative, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return relative{}, false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return relative{}, false
	}
	command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	parent, _ := strconv.Atoi(fields[1])
	return relative{
		pid: pid, parent: parent, born: fields[19], state: fields[0],
		command: strings.ReplaceAll(string(command), "\x00", " "),
	}, true
}

// alive reports whether the process still runs; a zombie does not.
func (r relative) alive() bool {
	now, ok := inspect(r.pid)
	return ok && now.born == r.born && now.state != "Z"
}

// The nodes of the organisations end with their demo too, also one that is stopped at the time.
func TestNothingSurvivesAKilledDemoOfTheSequencer(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	cmd := withDevnode(t, "--sequencer", "--kill-every", "2s", "--listen", "")
	scratch := t.TempDir()
	cmd.Env = append(cmd.Env, "TMPDIR="+scratch)
	d := start(t, cmd)
	d.Says(longPatience, "SIGSTOP ")
	family := descendants(t, cmd.Process.Pid)
	nodes := 0
	for _, p := range family {
		if strings.Contains(p.command, "conch.toml") {
			nodes++
		}
	}
	if nodes < 4 {
		t.Fatalf("found %d nodes among %v, want most of five or this test shows nothing", nodes, family)
	}
	d.stop(syscall.SIGKILL)
	for _, p := range family {
		pgtest.Eventually(t, patience, fmt.Sprintf("the end of %+v", p), func() bool { return !p.alive() })
	}
	pgtest.Own(t, postmaster.Config{}) // its start removes the folders of killed programs
	leavesNothing(t, scratch)
}
