package keeper

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// cgroup is a control group of the command's own, where we may make one: in a
// unit with Delegate=yes, in most containers, as root. cgroup.kill then kills
// everything in it at one stroke. Without it the walk over /proc has to do.
type cgroup struct {
	path string
	dir  *os.File
}

// groupName is known to conch too, which removes it when the keeper was killed.
func groupName(keeper int) string { return fmt.Sprintf("conch-%d", keeper) }

// newCgroup returns nil where there can be none.
func newCgroup(keeper int) *cgroup {
	home := homeCgroup()
	if home == "" || os.Getenv(NoCgroup) != "" {
		return nil
	}
	forget(home)
	g := &cgroup{path: filepath.Join(home, groupName(keeper))}
	if os.Mkdir(g.path, 0o750) != nil {
		return nil
	}
	var err error
	if g.dir, err = os.Open(g.path); err != nil {
		g.remove()
		return nil
	}
	if _, err := os.Stat(g.killer()); err != nil { // before Linux 5.14
		g.remove()
		return nil
	}
	return g
}

func (g *cgroup) killer() string { return filepath.Join(g.path, "cgroup.kill") }

// forget removes what keepers have left that were killed together with their conch.
// Nothing is lost should one be about to be used: its keeper does without.
func forget(home string) {
	left, _ := filepath.Glob(filepath.Join(home, "conch-*"))
	for _, path := range left {
		pid := strings.TrimPrefix(filepath.Base(path), "conch-")
		if _, err := os.Stat("/proc/" + pid); err != nil {
			_ = syscall.Rmdir(path) // refused while anybody is inside
		}
	}
}

// kill kills everything inside, forks under way included, so once is enough. The
// kernel may take its time under a storm of forks, so nobody waits for it.
func (g *cgroup) kill() {
	if g != nil {
		go func() { _ = os.WriteFile(g.killer(), []byte("1"), 0) }()
	}
}

// remove does nothing while a process is left inside.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	if g.dir != nil {
		_ = g.dir.Close()
	}
	_ = syscall.Rmdir(g.path)
}

// leftCgroup is that of a keeper that was killed, nil if it had none.
func leftCgroup(keeper int) *cgroup {
	g := &cgroup{path: filepath.Join(homeCgroup(), groupName(keeper))}
	if _, err := os.Stat(g.killer()); err != nil {
		return nil
	}
	return g
}

// homeCgroup is the folder of our own control group, version 2; see cgroups(7)
// and proc_pid_mountinfo(5).
func homeCgroup() string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	_, home, found := strings.Cut("\n"+string(text), "\n0::")
	if !found {
		return ""
	}
	home, _, _ = strings.Cut(home, "\n")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !strings.HasPrefix(after, "cgroup2 ") || len(fields) < 5 {
			continue
		}
		if rest, ok := strings.CutPrefix(home, strings.TrimSuffix(fields[3], "/")); ok {
			return filepath.Join(fields[4], rest)
		}
	}
	return ""
}
