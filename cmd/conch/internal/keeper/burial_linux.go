package keeper

import (
	"errors"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bury kills what lost keepers have left behind, and returns when nothing of it is
// left. The keeper is the one whose control group is to go.
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
			pace = firstPace // they spawn: no pause
		default:
			timer := time.NewTimer(pace)
			<-timer.C
			pace = min(2*pace, slowestPace)
		}
	}
}

// hurried gives this goroutine the processor before all others, if that is allowed: a
// tree that spawns without end competes for it, as with a keeper. The thread keeps its
// children, so it must not end.
func hurried() (restore func()) {
	runtime.LockOSThread()
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, 0, foremost)
	}
	return func() {
		if err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 20-raw) // the kernel says 20 less the niceness
		}
		runtime.UnlockOSThread()
	}
}

// pushAhead does the same for the session, until the last of several burials is over.
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

// deserted reaps orphans and tells whether none is left. One that has ended counts
// until it is reaped: before that its main thread may be dead and others alive. And
// its children are ours before it can be reaped, so nobody hides below.
//
// The list of the kernel skips somebody if who was read just before is taken off
// meanwhile. Orphans and keepers are taken off under the mutex only; that no stranger
// was is proven by a second reading that still has all of the first.
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

// reaped tells whether a child is gone for good.
func reaped(pid int) bool {
	for {
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if !errors.Is(err, unix.EINTR) {
			return err != nil || got == pid
		}
	}
}
