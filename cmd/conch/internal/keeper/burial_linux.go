package keeper

import (
	"errors"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bury kills all orphans, returns when none is left, and removes the control group of the given keeper.
func (n *nursery) bury(keeper int) {
	restore := hurried()
	defer restore()
	n.pushAhead()
	home := leftCgroup(keeper)
	defer home.remove()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.burials--; n.burials == 0 {
			n.ahead = false
			_ = setAutogroup(n.niceness)
		}
	}()
	f := newFamily(unix.Getpgrp())
	f.roots = n.orphans
	for round := 0; round < freezeRounds && n.sweep(f, unix.SIGSTOP) > 0; round++ {
		continue
	}
	home.kill()
	for pace := firstPace; ; {
		fresh := n.sweep(f, unix.SIGKILL)
		switch {
		case n.deserted():
			return
		case fresh > 0:
			pace = firstPace // the tree spawns: no pause
		default:
			timer := time.NewTimer(pace)
			<-timer.C
			pace = min(2*pace, slowestPace)
		}
	}
}

// hurried gives this goroutine's thread the highest priority, if allowed, since a fork storm
// competes for the processor. restore must be called: the thread may have children, which die
// if the thread ends.
func hurried() (restore func()) {
	runtime.LockOSThread()
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, 0, foremost)
	}
	return func() {
		if err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 20-raw) // the system call returns 20 minus the niceness
		}
		runtime.UnlockOSThread()
	}
}

// pushAhead gives our session the highest priority until the last burial is over.
func (n *nursery) pushAhead() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.ahead {
		n.ahead, n.niceness = true, autogroup()
	}
	_ = setAutogroup(foremost)
}

func (n *nursery) sweep(f *family, sig syscall.Signal) (fresh int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return f.sweep(sig)
}

// deserted reaps orphans and reports whether none is left. An orphan that has ended counts until
// it is reaped: before that its main thread may be dead and other threads alive. Its children
// become ours before it can be reaped, so no process hides below it.
//
// The kernel's list skips a child if the one read just before it is removed meanwhile. Orphans
// and keepers are removed only under the mutex. A second reading that equals the first proves
// that no stranger was removed.
func (n *nursery) deserted() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for range atOnce {
		before, err := children()
		left := err != nil
		for _, pid := range before {
			left = n.orphaned(pid) && !reaped(pid) || left
		}
		if left {
			return false
		}
		if after, err := children(); err == nil && slices.Equal(before, after) {
			return true
		}
	}
	return false
}

// reaped reports whether a child is gone for good. It reaps a child that has ended.
func reaped(pid int) bool {
	for {
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if !errors.Is(err, unix.EINTR) {
			return err != nil || got == pid
		}
	}
}
