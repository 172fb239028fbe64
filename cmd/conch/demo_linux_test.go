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

// An experiment that is killed takes all its processes with it, also one that is stopped at the time: only the kernel is left to
// end them. The next server that is started removes the folders.
func TestNothingSurvivesAKilledExperiment(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for line, c := range map[string]struct {
		when   string
		family map[string]int // by a word of the command, how many at least
	}{
		"demo --nodes 3 --lease 1s --kill-every 2s":  {"has committed", map[string]int{"demo-node": 2, "postgres": 2, "conch-devnode": 1}},
		"demo --sequencer --kill-every 2s --listen=": {"SIGSTOP ", map[string]int{"conch.toml": 4}},
		"chaos --faults 1000 --only frozen-fence":    {"[1/1000]", map[string]int{"demo-node": 1, " run ": 1, "chaos-child": 1, "postgres": 1}},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			cmd, scratch := experiment(t, line)
			e := start(t, cmd)
			e.Says(longPatience, c.when)
			family, keys := descendants(t, cmd.Process.Pid), ""
			for word, least := range c.family {
				found := 0
				for _, p := range family {
					if strings.Contains(p.command, word) {
						found++
					}
				}
				if found < least {
					t.Fatalf("found %d processes with %q among %v, want %d at least or this test shows nothing", found, word, family, least)
				}
			}
			if c.family["conch-devnode"] > 0 {
				keys = evidenceOf(t, family)
				if _, err := os.Stat(filepath.Join(keys, "payer.json")); err != nil {
					t.Fatalf("the demo's keystore was not found, and without it this test shows nothing: %v", err)
				}
			}
			e.stop(syscall.SIGKILL)
			for _, p := range family {
				pgtest.Eventually(t, patience, fmt.Sprintf("the end of %+v", p), func() bool { return !p.alive() })
			}
			pgtest.Own(t, postmaster.Config{}) // its start removes the folders of killed programs
			if _, err := os.Stat(keys); keys != "" && err == nil {
				t.Errorf("the folder %s is left, want it removed", keys)
			}
			if strings.HasPrefix(line, "demo") {
				leavesNothing(t, scratch)
			}
		})
	}
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
