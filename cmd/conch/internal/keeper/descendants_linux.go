package keeper

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// descendants is the tree of our descendants, or of those below roots. Since this process is a
// subreaper, a daemon that forked twice and started a session is found among our children. One
// goroutine may use it at a time.
type descendants struct {
	self            int
	shared          int          // a process group that is not ours alone, never signalled as a group; 0: none
	seen            map[int]bool // the processes that sweeps have signalled
	hasChildrenFile bool         // the kernel lists the children of a thread
	roots           func() []int // where the tree begins; nil: all our children
	buf             [4096]byte
}

// maxStopped is how many processes a sweep that does not kill may signal. The rest of a larger or
// growing tree is killed without being stopped first.
const maxStopped = 500

func newDescendants(shared int) *descendants {
	d := &descendants{self: os.Getpid(), shared: shared, seen: map[int]bool{}}
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d/children", d.self, d.self))
	d.hasChildrenFile = err == nil // false: a kernel without CONFIG_PROC_CHILDREN
	return d
}

// walk visits every descendant until visit returns false. It visits the children of a process only
// after the process: one that visit has stopped forks no more. Without the children file it works on
// one snapshot; sweeps are repeated anyway.
func (d *descendants) walk(visit func(pid int) bool) {
	kids := d.childrenOf
	if !d.hasChildrenFile {
		all, _ := scanProc()
		kids = func(pid int) []int { return all[pid] }
	}
	roots := d.roots
	if roots == nil {
		roots = func() []int { return kids(d.self) }
	}
	for level := roots(); len(level) > 0; {
		for _, pid := range level {
			if !visit(pid) {
				return
			}
		}
		var next []int
		for _, pid := range level {
			next = append(next, kids(pid)...)
		}
		level = next
	}
}

// sweep signals the descendants and returns how many were met for the first time. It must be quick: a
// process that forks and exits at once is caught only if the signal comes before it runs again.
func (d *descendants) sweep(sig syscall.Signal) (fresh int) {
	groups := map[int]bool{}
	d.walk(func(pid int) bool {
		fresh += d.signalOne(pid, sig, groups)
		return sig == syscall.SIGKILL || len(d.seen) < maxStopped
	})
	return fresh
}

// signalOne signals one descendant. If another descendant made its process group, the group is signalled
// once in a sweep, since no fork escapes that.
func (d *descendants) signalOne(pid int, sig syscall.Signal, groups map[int]bool) (fresh int) {
	if !d.seen[pid] {
		d.seen[pid] = true
		fresh = 1
	}
	// A group has the number of the process that made it, which is not used again while the group
	// exists: if that is a descendant, the group is ours.
	if group, err := unix.Getpgid(pid); err == nil && group != pid && d.seen[group] && group != d.shared && !groups[group] {
		groups[group] = true
		_ = unix.Kill(-group, sig)
	}
	_ = unix.Kill(pid, sig)
	return fresh
}

// signalGroup signals our descendants in a process group one by one, since others may share the group.
func (d *descendants) signalGroup(group int, sig syscall.Signal) {
	d.walk(func(pid int) bool {
		if g, err := unix.Getpgid(pid); err == nil && g == group {
			_ = unix.Kill(pid, sig)
		}
		return true
	})
}

// childrenOf returns the children of a process, which the kernel lists by thread. Of other processes
// it reads only the main thread: a child of another thread is not stopped with the others, and is
// found among our own children when its parent is dead.
func (d *descendants) childrenOf(pid int) (kids []int) {
	threads := []string{strconv.Itoa(pid)}
	if pid == d.self {
		entries, _ := os.ReadDir("/proc/self/task")
		threads = threads[:0]
		for _, e := range entries {
			threads = append(threads, e.Name())
		}
	}
	for _, thread := range threads {
		more, _ := d.threadChildren(pid, thread) // an error: the thread has ended, or no file could be opened; sweeps are repeated
		kids = append(kids, more...)
	}
	return kids
}

// threadChildren lists the children of one thread. A space follows each number, the last one too.
func (d *descendants) threadChildren(pid int, thread string) (kids []int, err error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/task/"+thread+"/children", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	for number := 0; ; {
		n, err := unix.Read(fd, d.buf[:])
		if n <= 0 || err != nil {
			return kids, err
		}
		for _, c := range d.buf[:n] {
			if c >= '0' && c <= '9' {
				number = 10*number + int(c-'0')
			} else if number != 0 {
				kids = append(kids, number)
				number = 0
			}
		}
	}
}

// scanProc finds the children of all processes by reading every process. An error means that
// some could not be read.
func scanProc() (all map[int][]int, fault error) {
	all = map[int][]int{}
	entries, fault := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fields, err := readStat(e.Name())
		if err != nil || len(fields) < 2 {
			if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ESRCH) {
				fault = errors.Join(fault, err)
			}
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			all[parent] = append(all[parent], pid)
		}
	}
	return all, fault
}

// readStat returns the fields of /proc/PID/stat from the state on: 0 is the state, 1 the parent, 19 the
// start time; see proc(5).
func readStat(pid string) ([]string, error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil, err
	}
	// The text is: pid (name) state parent …. A name may contain anything, brackets too.
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])), nil
}
