package keeper

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// highestPriority is the niceness of a process that has to kill: a fork storm competes with it for
// the processor.
const highestPriority = -20

// raiseThread gives this goroutine's thread the highest priority, if allowed. restore must be
// called: the thread may have children, which die if the thread ends.
func raiseThread() (restore func()) {
	runtime.LockOSThread()
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, 0, highestPriority)
	}
	return func() {
		if err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 20-raw) // the system call returns 20 minus the niceness
		}
		runtime.UnlockOSThread()
	}
}

// raiseAllThreads gives every thread of this process the highest priority, if allowed. The kernel
// keeps a priority per thread.
func raiseAllThreads() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, highestPriority)
		}
	}
}

// autogroupFile sets the niceness of our session. Where the scheduler groups processes by
// session (see sched(7)), the niceness of a process counts only within its session, and sessions
// share the processor equally: the many sessions of a storm would starve the keeper.
const autogroupFile = "/proc/self/autogroup"

// setSessionNice sets the niceness of our session. To lower it takes the usual privilege.
func setSessionNice(nice int) error {
	return os.WriteFile(autogroupFile, []byte(strconv.Itoa(nice)), 0)
}

// sessionNice returns the niceness of our session, 0 if the kernel does not group by session.
func sessionNice() (nice int) {
	text, err := os.ReadFile(autogroupFile)
	if err == nil {
		_, _ = fmt.Sscanf(string(text), "/autogroup-%d nice %d", new(int), &nice)
	}
	return nice
}
