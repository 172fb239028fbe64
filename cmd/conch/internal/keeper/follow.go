//go:build unix

package keeper

import (
	"context"
	"sync"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

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
	if notice.By != 0 {
		// A little less than the drain may take, so that it is over in time.
		left := notice.By.Sub(fence.Boottime())
		within = max(0, left-left/10)
	}
	k.End(within)
	var last fence.Instant
	for {
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
