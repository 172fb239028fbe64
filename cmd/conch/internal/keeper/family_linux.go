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

// family is the tree of this process's descendants. Since this process is a
// subreaper, none of them leaves it by losing its parent: a daemon that forked
// twice and began a session of its own is found among our children.
type family struct {
	self   int
	shared int          // a process group that is not ours alone, never signalled as one
	seen   map[int]bool // every descendant ever met
	quick  bool         // the kernel lists the children of a thread
	roots  func() []int // whom the tree begins with; nil: all our children
	buf    [4096]byte
}

// courtesy is how many are stopped before they are killed. A tree that is larger,
// or that grows while we look, is killed at once.
const courtesy = 500

func newFamily(shared int) *family {
	f := &family{self: os.Getpid(), shared: shared, seen: map[int]bool{}}
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d/children", f.self, f.self))
	f.quick = err == nil // else a kernel without CONFIG_PROC_CHILDREN
	return f
}

// walk visits every descendant until told to stop, generation by generation: who
// was found is visited before anybody else is looked for.
func (f *family) walk(visit func(pid int) bool) {
	kids := f.listed
	if !f.quick {
		all, _ := scanned()
		kids = func(pid int) []int { return all[pid] }
	}
	roots := f.roots
	if roots == nil {
		roots = func() []int { return kids(f.self) }
	}
	for generation := roots(); len(generation) > 0; {
		for _, pid := range generation {
			if !visit(pid) {
				return
			}
		}
		var next []int
		for _, pid := range generation {
			next = append(next, kids(pid)...)
		}
		generation = next
	}
}

// sweep signals everybody that can be found and returns how many of them were met
// for the first time. It must be quick: of processes that make a successor and are
// gone, only those can be caught that we get to before they run again.
func (f *family) sweep(sig syscall.Signal) (fresh int) {
	groups := map[int]bool{}
	f.walk(func(pid int) bool {
		fresh += f.hit(pid, sig, groups)
		return sig == syscall.SIGKILL || len(f.seen) < courtesy
	})
	return fresh
}

// hit signals one descendant, and its group as one, which no fork slips through.
func (f *family) hit(pid int, sig syscall.Signal, groups map[int]bool) (fresh int) {
	if !f.seen[pid] {
		f.seen[pid] = true
		fresh = 1
	}
	// A group is named after who made it. If that is a descendant, so is the group.
	if group, err := unix.Getpgid(pid); err == nil && group != pid && f.seen[group] && group != f.shared && !groups[group] {
		groups[group] = true
		_ = unix.Kill(-group, sig)
	}
	_ = unix.Kill(pid, sig)
	return fresh
}

// signal sends a signal to the descendants in one process group.
func (f *family) signal(group int, sig syscall.Signal) {
	f.walk(func(pid int) bool {
		if g, err := unix.Getpgid(pid); err == nil && g == group {
			_ = unix.Kill(pid, sig)
		}
		return true
	})
}

// listed are the children of a process as the kernel lists them by thread. Of other
// processes only the main thread is asked: who was started by another thread is
// found among our own children when its parent is dead.
func (f *family) listed(pid int) (kids []int) {
	threads := []string{strconv.Itoa(pid)}
	if pid == f.self {
		entries, _ := os.ReadDir("/proc/self/task")
		threads = threads[:0]
		for _, e := range entries {
			threads = append(threads, e.Name())
		}
	}
	for _, thread := range threads {
		more, _ := f.of(pid, thread) // an error: it has ended
		kids = append(kids, more...)
	}
	return kids
}

// of lists the children of one thread.
func (f *family) of(pid int, thread string) (kids []int, err error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/task/"+thread+"/children", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	for number := 0; ; {
		n, err := unix.Read(fd, f.buf[:])
		if n <= 0 || err != nil {
			return kids, err
		}
		for _, c := range f.buf[:n] {
			if c >= '0' && c <= '9' {
				number = 10*number + int(c-'0')
			} else if number != 0 {
				kids = append(kids, number)
				number = 0
			}
		}
	}
}

// scanned finds the children of all processes by looking at every one. The error
// says that not all could be looked at.
func scanned() (all map[int][]int, fault error) {
	all = map[int][]int{}
	entries, fault := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fields, err := status(e.Name())
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

// status of a process: its state, its parent and so on, see proc(5).
func status(pid string) ([]string, error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil, err
	}
	// pid (name) state parent …, and a name may hold anything, brackets too.
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])), nil
}
