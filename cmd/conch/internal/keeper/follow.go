//go:build unix

package keeper

import (
	"context"
	"sync"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// burial is what is left of a drain, where there is so much, for a command that has not
// ended to be killed and buried and for that to be said.
const burial = 500 * time.Millisecond

// Share is how much of the time that a drain may take is the command's: nine tenths, so
// that it is over in time; less if that leaves no half second to kill it, but half.
func Share(drain time.Duration) time.Duration { return drain - min(max(drain/10, burial), drain/2) }

// left is the command's share of the time until then.
func left(by fence.Instant) time.Duration { return max(0, Share(by.Sub(fence.Boottime()))) }

// Whole is the time of a drain of which the command's share is so much.
func Whole(share time.Duration) time.Duration {
	return max(share+share/9, share+min(burial, share))
}

// Follow hands the keeper every deadline of a leadership while it lasts, asks the
// command to end when ctx does, and returns when nothing of it is left.
//
// Whoever asked for the scope says how long the command may take; within says it
// where nobody did. Until then a term that is given up is renewed, so the deadlines
// go on, and a command may take longer than a lease to end. When the leadership was
// lost none comes any more, and the last one ends it.
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

// lead returns when leadership ends, true, or the command has.
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
		if notice.By != by { // sooner: conch itself is to end by now
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
