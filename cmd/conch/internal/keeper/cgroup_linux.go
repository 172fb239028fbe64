package keeper

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// cgroup is a control group for the command and its descendants, without the keeper. cgroup.kill
// kills all its processes at once. To make one, the cgroup file system must be writable: as root, or
// in a unit with Delegate=yes and ProtectControlGroups=no. Without a group, descendants finds them.
type cgroup struct {
	path string
	dir  *os.File // for starting a process inside; nil from cgroupOf
}

// cgroupName names a keeper's control group. If the keeper was killed, conch removes
// the group; if conch was killed as well, the next keeper does.
func cgroupName(keeper int) string { return fmt.Sprintf("conch-%d", keeper) }

// newCgroup returns nil if no control group can be made.
func newCgroup(keeper int) *cgroup {
	own := ownCgroup()
	if own == "" || os.Getenv(NoCgroup) != "" {
		return nil
	}
	removeDeadCgroups(own)
	g := &cgroup{path: filepath.Join(own, cgroupName(keeper))}
	if os.Mkdir(g.path, 0o750) != nil {
		return nil
	}
	var err error
	if g.dir, err = os.Open(g.path); err != nil {
		g.remove()
		return nil
	}
	if _, err := os.Stat(g.killFile()); err != nil { // before Linux 5.14
		g.remove()
		return nil
	}
	return g
}

func (g *cgroup) killFile() string { return filepath.Join(g.path, "cgroup.kill") }

// removeDeadCgroups removes the control groups of keepers that were killed together with conch. A living
// keeper of another PID namespace looks dead; if its group is still empty, it loses it and does
// without.
func removeDeadCgroups(own string) {
	left, _ := filepath.Glob(filepath.Join(own, "conch-*"))
	for _, path := range left {
		pid := strings.TrimPrefix(filepath.Base(path), "conch-")
		if _, err := os.Stat("/proc/" + pid); err != nil {
			_ = syscall.Rmdir(path) // refused while a process is inside
		}
	}
}

// kill asks the kernel to kill every process inside, forks under way included. It neither waits,
// since the kernel may be slow in a fork storm, nor reports a failure: the caller sweeps /proc too.
func (g *cgroup) kill() {
	if g != nil {
		go func() { _ = os.WriteFile(g.killFile(), []byte("1"), 0) }()
	}
}

// remove deletes the group, unless a process is left inside.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	if g.dir != nil {
		_ = g.dir.Close()
	}
	_ = syscall.Rmdir(g.path)
}

// cgroupOf returns the control group of a killed keeper, nil if it had none.
func cgroupOf(keeper int) *cgroup {
	g := &cgroup{path: filepath.Join(ownCgroup(), cgroupName(keeper))}
	if _, err := os.Stat(g.killFile()); err != nil {
		return nil
	}
	return g
}

// ownCgroup returns the folder of our own control group (version 2), "" if there is none;
// see cgroups(7) and proc_pid_mountinfo(5).
func ownCgroup() string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	_, own, found := strings.Cut("\n"+string(text), "\n0::")
	if !found {
		return ""
	}
	own, _, _ = strings.Cut(own, "\n")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		// Field 3 is the root of the mount within the hierarchy, field 4 the mount point.
		if !strings.HasPrefix(after, "cgroup2 ") || len(fields) < 5 {
			continue
		}
		if rest, ok := strings.CutPrefix(own, strings.TrimSuffix(fields[3], "/")); ok {
			return filepath.Join(fields[4], rest)
		}
	}
	return ""
}
