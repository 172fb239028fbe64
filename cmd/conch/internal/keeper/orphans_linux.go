package keeper

import (
	"context"
	"errors"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/internal/pause"
)

// killOrphans kills all orphans, returns when none is left, and removes the control group of the given keeper.
func (r *reaper) killOrphans(keeper int) {
	restore := raiseThread()
	defer restore()
	r.raiseSession()
	group := cgroupOf(keeper)
	defer group.remove()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.kills--; r.kills == 0 {
			r.raised = false
			_ = setSessionNice(r.niceBefore)
		}
	}()
	d := newDescendants(unix.Getpgrp())
	d.roots = r.orphans
	for round := 0; round < freezeRounds && r.sweep(d, unix.SIGSTOP) > 0; round++ {
		continue
	}
	group.kill()
	for pauses := (pause.Growing{First: firstSweepPause, Most: longestSweepPause}); ; {
		fresh := r.sweep(d, unix.SIGKILL)
		switch {
		case r.reapOrphans():
			return
		case fresh > 0:
			pauses.Reset() // the tree spawns: sweep again at once
		default:
			_ = pause.For(context.Background(), pauses.Next())
		}
	}
}

// raiseSession gives our session the highest priority until the last killOrphans returns.
func (r *reaper) raiseSession() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.raised {
		r.raised, r.niceBefore = true, sessionNice()
	}
	_ = setSessionNice(highestPriority)
}

func (r *reaper) sweep(d *descendants, sig syscall.Signal) (fresh int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return d.sweep(sig)
}

// reapOrphans reaps orphans and reports whether none is left. An orphan that has ended counts until
// it is reaped: before that its main thread may be dead and other threads alive. Its children
// become ours before it can be reaped, so no process hides below it.
//
// The kernel's list skips a child if the one read just before it is removed meanwhile. Orphans
// and keepers are removed only under the mutex. A second reading that equals the first proves
// that no unrelated child was removed.
func (r *reaper) reapOrphans() (none bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range reapBatch {
		before, err := children()
		left := err != nil
		for _, pid := range before {
			left = r.isOrphan(pid) && !reapChild(pid) || left
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

// reapChild reaps a child if it has ended, and reports whether it is gone for good.
func reapChild(pid int) (gone bool) {
	for {
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if !errors.Is(err, unix.EINTR) {
			return err != nil || got == pid
		}
	}
}
