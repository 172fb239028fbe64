package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

func TestARoleThatFailsRestsLongerEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rests []time.Duration
		works, fails := time.Duration(0), errors.New("broken")
		w := resigning(func(context.Context, election.Leadership) error {
			<-time.NewTimer(works).C
			return fails
		}, func(d time.Duration) { rests = append(rests, d) })
		for range 8 {
			if w(t.Context(), election.Leadership{}) == nil {
				t.Error("got no error, want that of the role")
			}
		}
		if rests[0] != restFirst || rests[1] != 2*restFirst || rests[7] != restMost {
			t.Errorf("the pauses are %v, want them doubled up to the longest", rests)
		}
		// A role that gave the scope up by resign rests too; one that was asked to end does not.
		for why, more := range map[error]int{election.ErrResigned: 1, election.ErrStepDown: 0} {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(&election.LostError{Why: fmt.Errorf("%w: broken", why)})
			before := len(rests)
			_ = w(ctx, election.Leadership{})
			if len(rests)-before != more {
				t.Errorf("after %v the role rests %d times; want once after ErrResigned, never after ErrStepDown", why, len(rests)-before)
			}
		}
		rests = rests[:8]
		works = time.Minute
		_ = w(t.Context(), election.Leadership{})
		if rests[8] != restFirst {
			t.Errorf("after a minute of work the pause is %s, want the first", rests[8])
		}
		fails = fmt.Errorf("the role was stopped: %w", fence.ErrLate)
		if _ = w(t.Context(), election.Leadership{}); len(rests) > 9 {
			t.Errorf("a late role rests %s, want no pause", rests[9])
		}
	})
}

// S18: a role of a standalone node rests too. After a long run the pauses start anew.
func TestARoleAloneRestsLongerEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &alone{node: &Node{log: slog.New(slog.DiscardHandler), meters: metric.New(nil, func(string) *fence.Gate { return nil }, nil)}}
		ctx, cancel := context.WithCancel(t.Context())
		var rests []time.Duration
		ended := time.Now()
		a.keep(ctx, &post{gate: fence.Standalone("s", "n1")}, func(context.Context, election.Leadership) error {
			rests = append(rests, time.Since(ended))
			if len(rests) == 9 {
				<-time.NewTimer(time.Hour).C
			}
			if len(rests) == 10 {
				cancel()
			}
			ended = time.Now()
			return errors.New("broken")
		})
		if rests[1] != restFirst || rests[2] != 2*restFirst || rests[8] != restMost || rests[9] != restFirst {
			t.Errorf("rests %v", rests)
		}
	})
}
