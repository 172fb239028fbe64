package core

import (
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
)

// maxWaits limits the connections that wait for other processes to end. The scopes of further
// holders are polled.
const maxWaits = 8

// maxUnwantedWait is how long a wait may go on that is no longer wanted. Cancelling it costs the mint
// a connection just when a new leader needs the server, and most waits end earlier by themselves.
const maxUnwantedWait = time.Second

// awaited is a wait for the end of one process.
type awaited struct {
	serial uint64
	endAt  fence.Instant // when it is cancelled; 0: it is wanted
}

// watchProcesses replaces the set of processes whose end is waited for.
func (c *Core) watchProcesses(processes []int64) {
	wanted := processes[:min(len(processes), maxWaits)]
	var delay time.Duration // of new waits
	for process, w := range c.waits {
		if slices.Contains(wanted, process) {
			w.endAt = 0
			continue
		}
		delay = 2 * linger // by then the old wait's connection is free for the new one
		if w.endAt == 0 {
			w.endAt = c.now.Add(maxUnwantedWait)
		}
	}
	for _, process := range wanted {
		if c.waits[process] == nil {
			c.waits[process] = &awaited{}
			c.awaitProcess(process, delay)
		}
	}
}

// awaitProcess waits for the end of a process, or goes on with that.
func (c *Core) awaitProcess(process int64, after time.Duration) {
	c.serial++
	c.waits[process].serial = c.serial
	c.addAction(Await{Process: process, Serial: c.serial, After: after})
}

// takeWaited takes the answer to an Await. A later answer of the mint may name an ended process once
// more, for a scope that its end does not wake now: that one starts a new wait.
func (c *Core) takeWaited(in Waited) Input {
	w := c.waits[in.Process]
	switch {
	case w == nil || w.serial != in.Serial:
	case in.Err != nil:
		c.awaitProcess(in.Process, c.machine.set.BackoffMax)
	case !in.Gone:
		c.awaitProcess(in.Process, 0)
	default:
		delete(c.waits, in.Process)
		return Woken{Process: in.Process}
	}
	return nil
}

// waitDue returns when the first unwanted wait is cancelled.
func (c *Core) waitDue() fence.Instant {
	due := never
	for _, w := range c.waits {
		if w.endAt != 0 {
			due = min(due, w.endAt)
		}
	}
	return due
}

// endWaits cancels the waits that have not been wanted for too long.
func (c *Core) endWaits() {
	for _, process := range slices.Sorted(maps.Keys(c.waits)) {
		if w := c.waits[process]; w.endAt != 0 && c.now >= w.endAt {
			delete(c.waits, process)
			c.addAction(Unwait{Serial: w.serial})
		}
	}
}
