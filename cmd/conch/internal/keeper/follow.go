//go:build unix

package keeper

import (
	"context"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// killReserve is the part of a drain's time that is left, if there is enough, to kill and reap a
// command that has not ended and to report it.
const killReserve = 500 * time.Millisecond

// CommandTime returns the command's part of the time for a drain: nine tenths, or less so that half
// a second is left to kill it, but at least half.
func CommandTime(drain time.Duration) time.Duration {
	return drain - min(max(drain/10, killReserve), drain/2)
}

// DrainTime is the reverse of [CommandTime]: it returns the time for a drain that gives the command
// this much.
func DrainTime(command time.Duration) time.Duration {
	return max(command+command/9, command+min(killReserve, command))
}

// commandTimeUntil returns the command's part of the time until a drain times out.
func commandTimeUntil(by fence.Instant) time.Duration {
	return max(0, CommandTime(by.Sub(fence.Boottime())))
}

// Follow sends the keeper every deadline of a leadership while it lasts, asks the command to
// end when ctx ends, and returns when no process of the command is left.
//
// The operator of a drain says how long the command may take to end; otherwise within does.
// Meanwhile the term is renewed and deadlines come, so the command may take longer than a lease.
// If the leadership was lost, no deadline comes any more, and the last one ends the command.
func (k *Keeper) Follow(ctx context.Context, l election.Leadership, door fence.Door, within time.Duration) {
	if k.sendDeadlines(ctx, l.Gate, door) {
		k.endCommand(l, within)
	}
}

// sendDeadlines returns true when the leadership ends, false when no process is left.
func (k *Keeper) sendDeadlines(ctx context.Context, gate *fence.Gate, door fence.Door) bool {
	var last fence.Instant
	for {
		moved := gate.Moved()
		if at, open := gate.Deadline(door); open && at != last {
			last = at
			k.Deadline(at)
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return true
		case <-k.done:
			return false
		}
	}
}

// endCommand asks the command to end, passes on what the leadership's notice changes, and returns
// when no process is left.
func (k *Keeper) endCommand(l election.Leadership, within time.Duration) {
	notice, moved := l.Notice()
	by := notice.By
	if by != 0 {
		within = commandTimeUntil(by)
	}
	k.End(within)
	var last fence.Instant
	for {
		if notice.By != by { // earlier than before: conch itself must end
			by = notice.By
			k.End(commandTimeUntil(by))
		}
		if notice.Deadline > last {
			last = notice.Deadline
			k.Deadline(last)
		}
		select {
		case <-moved:
			notice, moved = l.Notice()
		case <-k.done:
			return
		}
	}
}
