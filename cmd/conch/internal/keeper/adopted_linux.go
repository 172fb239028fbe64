package keeper

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// ReapAdopted reaps children that this process has not started, from now on. Process 1 of a container gets what loses its
// parent there, such as what a probe has left, and a script that becomes conch by exec leaves it what it has started.
// Conch itself starts only keepers from then on, which are reaped elsewhere. If a keeper dies while others' children live,
// they count as its orphans.
func ReapAdopted() {
	ended := make(chan os.Signal, 1)
	ended <- unix.SIGCHLD // for those that have ended before
	signal.Notify(ended, unix.SIGCHLD)
	go func() {
		for range ended {
			theReaper.reapAdopted()
		}
	}()
}

// reapAdopted reaps every child that has ended, except keepers.
func (r *reaper) reapAdopted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, _ := children() // what it misses is found at the next end of a child
	for _, pid := range found {
		if !r.keepers[pid] {
			reapChild(pid)
		}
	}
}
