//go:build unix

package keeper

import (
	"context"
	"sync"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// burial is the part of a drain's time that is left, if there is enough, to kill and reap a
// command that has not ended and to report it.
const burial = 500 * time.Millisecond

// Share returns the command's part of the time for a drain: nine tenths, or less so that half a
// second is left to kill it, but at least half.
func Share(drain time.Duration) time.Duration { return drain - min(max(drain/10, burial), drain/2) }

// left returns the command's share of the time until by.
func left(by fence.Instant) time.Duration { return max(0, Share(by.Sub(fence.Boottime()))) }

// Whole returns the time for a drain of which share is the command's part.
func Whole(share time.Duration) time.Duration {
	return max(share+share/9, share+min(burial, share))
}

// Follow sends the keeper every deadline of a leadership while it lasts, asks the command to
// end when ctx ends, and returns when no process of the command is left.
//
// The operator of a drain says how long the command may take to end; otherwise within does.
// Meanwhile the term is renewed and deadlines come, so the command may take longer than a lease.
// If the leadership was lost, no deadline comes any more, and the last one ends the command.
func (k *Keeper) Follow(ctx context.Context, l election.Leadership, door fence.Door, within time.Duration) {
	var telling sync.WaitGroup
	telling.Go(func() {
		if k.lead(ctx, l.Gate, door) {
			k.leave(l, within)
		}
	})
	<-k.done
	telling.Wait()
}

// lead passes deadlines on. It returns true when the leadership ends, false when the command has.
func (k *Keeper) lead(ctx context.Context, gate *fence.Gate, door fence.Door) bool {
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

func (k *Keeper) leave(l election.Leadership, within time.Duration) {
	notice, moved := l.Notice()
	by := notice.By
	if by != 0 {
		within = left(by)
	}
	k.End(within)
	var last fence.Instant
	for {
		if notice.By != by { // earlier than before: conch itself must end
			by = notice.By
			k.End(left(by))
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
