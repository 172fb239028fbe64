package keeper

import (
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// nursery finds the orphans among the children of this process. Conch is a subreaper: the
// descendants of a killed keeper become conch's children, beside the keepers of other commands
// and other processes that conch has started. Only the orphans are killed, and the leadership is
// released when the last of them is gone, so they must be known exactly.
//
// An orphan is a child that this process has not started. Children that it has started are
// known in three ways:
//
//   - keepers are forked, registered and reaped under the mutex;
//   - while every keeper lives there are no orphans, so every other child is a
//     stranger, and remains one;
//   - the kernel gives orphans to the main thread, which lives as long as the process. A
//     child of another thread was started by that thread.
//
// That leaves strangers that the main thread starts while a keeper lives: conch starts none.
// If several keepers have died, nothing shows whose an orphan is, so the burial of each ends
// only when no orphan is left: later than it might, never earlier.
//
// Every wait names one process: a wait for any child would take the exit codes of others.
type nursery struct {
	mu        sync.Mutex
	keepers   map[int]bool
	strangers map[int]string // when each was started, since numbers are reused
	burials   int            // under way; there may be orphans unless 0
	ahead     bool           // our session has the highest priority
	niceness  int            // of our session before that
}

// ours is the only nursery: a process has one set of children.
var ours = &nursery{keepers: map[int]bool{}, strangers: map[int]string{}}

// fork starts a keeper.
func (n *nursery) fork(cmd *exec.Cmd) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.greet()
	if err := cmd.Start(); err != nil {
		return err
	}
	n.keepers[cmd.Process.Pid] = true
	return nil
}

// greet notes all children but the keepers as strangers, unless there may be orphans among them.
func (n *nursery) greet() {
	if n.burials > 0 {
		return
	}
	here, err := children()
	if err != nil {
		return
	}
	known := map[int]string{}
	for _, pid := range here {
		if since := born(pid); since != "" && !n.keepers[pid] {
			known[pid] = since
		}
	}
	for pid := range n.keepers {
		if ended(pid, unix.WNOHANG) {
			return // perhaps before the look, which may have found orphans
		}
	}
	n.strangers = known
}

// lost waits for the end of a keeper, reaps it and takes it off the list. orphans says that it
// has left descendants behind, which the caller must bury.
func (n *nursery) lost(cmd *exec.Cmd, orphans bool) {
	ended(cmd.Process.Pid, 0)
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = cmd.Wait() // its exit code says less than its reports
	delete(n.keepers, cmd.Process.Pid)
	if orphans {
		n.burials++
	}
}

// ended reports whether a child has ended with all its threads. It does not reap the child.
func ended(pid, options int) bool {
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
	f := newFamily(0)
	if !f.hasChildrenFile {
		all, err := scanned()
		return all[f.self], err
	}
	return f.childrenOf(f.self, strconv.Itoa(f.self))
}

// orphans lists the orphans that can be found. Only deserted can say that there are none.
func (n *nursery) orphans() []int {
	found, _ := children()
	return slices.DeleteFunc(found, func(pid int) bool { return !n.orphaned(pid) })
}

// orphaned reports whether a child was not started by this process.
func (n *nursery) orphaned(pid int) bool {
	if n.keepers[pid] {
		return false
	}
	since, known := n.strangers[pid]
	if !known {
		return true
	}
	now := born(pid)
	return now != "" && now != since
}

// born returns when a process was started, in ticks since boot; "" if that is unknown.
func born(pid int) string {
	fields, err := status(strconv.Itoa(pid))
	if err != nil || len(fields) < 20 {
		return ""
	}
	return fields[19]
}
