package logs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
)

// The machine of a node that makes a log is suspended after the members have promised their stores, for longer than they have. They may have
// begun with another node's log since: this node does not begin with its own, of which it would be the only member.
func TestAPromiseHasEnded(t *testing.T) {
	t.Parallel()
	for what, until := range map[string]time.Duration{"in time": time.Minute, "too late": -time.Millisecond} {
		r := &part{self: "n1", over: t.Context(), promise: promise{"n1", boottime() + until}, begin: make(chan txlog.Genesis, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := r.spread(ctx, txlog.Genesis{}, order{})
		if begins := len(r.begin) == 1; begins != (until > 0) || errors.Is(err, errNotMade) == begins {
			t.Errorf("%s: it begins %v, %v", what, begins, err)
		}
	}
}
