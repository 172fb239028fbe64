package keeper

import (
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// nursery knows which children of this process are whose. Conch is a subreaper:
// what a keeper leaves behind when it is killed becomes conch's child, beside the
// keepers of other commands and whatever else this process has started. Only the
// first are to be killed, and the leadership is released when the last of them is
// gone, so both must be told exactly.
//
// An orphan is a child that nobody here has started. Who was started here is known
// in three ways:
//
//   - keepers are forked, registered and reaped under the mutex;
//   - while every keeper lives nobody can be orphaned, so whoever else is a child
//     then is a stranger, and remains one;
//   - the kernel gives orphans to our main thread, which lives as long as we do. A
//     child of another thread was started by that thread.
//
// What is left is a stranger that the main thread started while a keeper lived: conch
// starts none at all. Of several keepers that died nobody can say whose an orphan is,
// so each is buried only when all of them are: later than it might be, never earlier.
//
// Nobody is ever waited for by any number but his own: that would take the exit codes
// of others from who waits for them.
type nursery struct {
	mu        sync.Mutex
	keepers   map[int]bool
	strangers map[int]string // and when they were started, since numbers come back
	burials   int            // under way: there may be orphans
	ahead     bool           // our session is, meanwhile
	niceness  int            // and had this before
}

// ours: a process has one set of children.
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

// greet remembers who is here that is nobody's orphan.
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
			return // perhaps before we looked
		}
	}
	n.strangers = known
}

// lost waits for the end of a keeper and takes it off the list. If it has left
// others behind they are to be buried, and count as orphans from here on.
func (n *nursery) lost(cmd *exec.Cmd, orphans bool) {
	ended(cmd.Process.Pid, 0)
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = cmd.Wait() // how it ended says less than what it said
	delete(n.keepers, cmd.Process.Pid)
	if orphans {
		n.burials++
	}
}

// ended tells whether a child has ended, threads and all, without reaping it.
func ended(pid, options int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
		if !errors.Is(err, unix.EINTR) {
			return err != nil || info.Signo != 0
		}
	}
}

// children of this process that may be orphans. The error, such as that no more
// files can be opened, leaves open how many there are.
func children() ([]int, error) {
	f := newFamily(0)
	if !f.quick {
		all, err := scanned()
		return all[f.self], err
	}
	return f.of(f.self, strconv.Itoa(f.self))
}

// orphans that can be found: to know that there are none, ask deserted.
func (n *nursery) orphans() []int {
	found, _ := children()
	return slices.DeleteFunc(found, func(pid int) bool { return !n.orphaned(pid) })
}

// orphaned tells whether a child is one that nobody here has started.
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

// born is when a process was started, in ticks since the machine was.
func born(pid int) string {
	fields, err := status(strconv.Itoa(pid))
	if err != nil || len(fields) < 20 {
		return ""
	}
	return fields[19]
}
