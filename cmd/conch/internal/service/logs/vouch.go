package logs

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/txlog"
)

// vouchEvery is how often it is looked whether this node can lead the log. What two looks agree on is told, again and again: a first
// withdrawal among electors lasts for 1.6 s.
const vouchEvery = time.Second

// vouch tells gossip while this node is a member that cannot work, so that it suggests another one.
func (r *part) vouch(ctx context.Context) {
	var before, why error
	for pause.For(ctx, vouchEvery) == nil {
		before, why = why, r.unfit(why)
		if (before == nil) == (why == nil) {
			r.ground.Withdraw(topicOf(r.Namespace), why)
		}
	}
}

// unfit returns why this node is a member that cannot lead the log. nil: it can, or is none. While the log is being opened, or waited for
// since nobody has made it yet, it is as before.
func (r *part) unfit(before error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if (r.state == stateFailed || r.state == stateWaiting && r.why != nil) && !r.follows { // what it is in a log that it never had cannot be known
		return fmt.Errorf("log %s does not run: %w", r.Namespace, r.why)
	}
	if r.host == nil {
		return before
	}
	s := r.host.Status()
	_, is := txlog.FindMember(s.Members, r.self)
	switch r.follows = !is; {
	case len(s.Members) == 0: // it has ended
		return before
	case is && !s.Decides:
		return fmt.Errorf("log %s: this node's store has no vote yet", r.Namespace)
	}
	return nil
}
