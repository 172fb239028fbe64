package keeper

import (
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// reaper finds the orphans among the children of this process. Conch is a subreaper: the
// descendants of a killed keeper become conch's children, beside the keepers of other commands
// and other processes that conch has started. Only the orphans are killed, and the leadership is
// released when the last of them is gone, so they must be known exactly.
//
// An orphan is a child that this process has not started. Children that it has started are
// known in three ways:
//
//   - keepers are started, registered and reaped under the mutex;
//   - while every keeper lives there are no orphans, so every other child is unrelated,
//     and remains so;
//   - the kernel gives orphans to the main thread, which lives as long as the process. A
//     child of another thread was started by that thread.
//
// That leaves unrelated children that the main thread starts while a keeper lives: conch starts
// none. If several keepers have died, nothing shows whose an orphan is, so killOrphans returns for
// each only when no orphan is left: later than it might, never earlier.
//
// Every wait names one process: a wait for any child would take the exit codes of others.
type reaper struct {
	mu         sync.Mutex
	keepers    map[int]bool
	unrelated  map[int]string // start times of other children, since numbers are reused
	kills      int            // calls of killOrphans that are due or under way; there may be orphans unless 0
	raised     bool           // our session has the highest priority
	niceBefore int            // niceness of our session before that
}

// theReaper is the only one: a process has one set of children.
var theReaper = &reaper{keepers: map[int]bool{}, unrelated: map[int]string{}}

// startKeeper starts a keeper's process.
func (r *reaper) startKeeper(cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noteUnrelated()
	if err := cmd.Start(); err != nil {
		return err
	}
	r.keepers[cmd.Process.Pid] = true
	return nil
}

// noteUnrelated notes all children but the keepers, unless there may be orphans among them.
func (r *reaper) noteUnrelated() {
	if r.kills > 0 {
		return
	}
	here, err := children()
	if err != nil {
		return
	}
	known := map[int]string{}
	for _, pid := range here {
		if started := startTime(pid); started != "" && !r.keepers[pid] {
			known[pid] = started
		}
	}
	for pid := range r.keepers {
		if hasExited(pid, unix.WNOHANG) {
			return // perhaps before the children were listed, which may include orphans
		}
	}
	r.unrelated = known
}

// reapKeeper waits for the end of a keeper, reaps it and takes it off the list. orphans says that it
// has left descendants behind, for which the caller must call killOrphans.
func (r *reaper) reapKeeper(cmd *exec.Cmd, orphans bool) {
	hasExited(cmd.Process.Pid, 0)
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = cmd.Wait() // its exit code says less than its reports
	delete(r.keepers, cmd.Process.Pid)
	if orphans {
		r.kills++
	}
}

// hasExited reports whether a child has ended with all its threads; with options 0 it waits for
// that. It does not reap the child.
func hasExited(pid, options int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
		if !errors.Is(err, unix.EINTR) {
			return err != nil || info.Signo != 0
		}
	}
}

// children lists the children of this process that may be orphans. An error, such as too many
// open files, means that there may be more.
func children() ([]int, error) {
	d := newDescendants(0)
	if !d.hasChildrenFile {
		all, err := scanProc()
		return all[d.self], err
	}
	return d.threadChildren(d.self, strconv.Itoa(d.self))
}

// orphans lists the orphans that can be found. Only reapOrphans can say that there are none.
func (r *reaper) orphans() []int {
	found, _ := children()
	return slices.DeleteFunc(found, func(pid int) bool { return !r.isOrphan(pid) })
}

// isOrphan reports whether a child was not started by this process.
func (r *reaper) isOrphan(pid int) bool {
	if r.keepers[pid] {
		return false
	}
	started, known := r.unrelated[pid]
	if !known {
		return true
	}
	now := startTime(pid)
	return now != "" && now != started
}

// startTime returns when a process was started, in ticks since boot; "" if that is unknown.
func startTime(pid int) string {
	fields, err := readStat(strconv.Itoa(pid))
	if err != nil || len(fields) < 20 {
		return ""
	}
	return fields[19]
}
