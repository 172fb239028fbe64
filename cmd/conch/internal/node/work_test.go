package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

func TestARoleThatFailsRestsLongerEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var rests []time.Duration
		works, fails := time.Duration(0), errors.New("broken")
		w := restAfterFailure(func(context.Context, election.Leadership) error {
			<-time.NewTimer(works).C
			return fails
		}, func(d time.Duration) { rests = append(rests, d) })
		for range 8 {
			if w(t.Context(), election.Leadership{}) == nil {
				t.Error("got no error, want that of the role")
			}
		}
		if rests[0] != firstRest || rests[1] != 2*firstRest || rests[7] != longestRest {
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
		if rests[8] != firstRest {
			t.Errorf("after a minute of work the pause is %s, want the first", rests[8])
		}
		fails = fmt.Errorf("the role was stopped: %w", fence.ErrLate)
		if _ = w(t.Context(), election.Leadership{}); len(rests) > 9 {
			t.Errorf("a late role rests %s, want no pause", rests[9])
		}
	})
}

// S18: a role of a standalone node rests too. After a long run the pauses start anew.
func TestAStandaloneRoleRestsLongerEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &standalone{node: &Node{log: slog.New(slog.DiscardHandler), meters: metric.New(nil, func(string) *fence.Gate { return nil }, nil)}}
		ctx, cancel := context.WithCancel(t.Context())
		var rests []time.Duration
		ended := time.Now()
		a.supervise(ctx, &standaloneRole{gate: fence.Standalone("s", "n1")}, func(context.Context, election.Leadership) error {
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
		if rests[1] != firstRest || rests[2] != 2*firstRest || rests[8] != longestRest || rests[9] != firstRest {
			t.Errorf("rests %v", rests)
		}
	})
}

// once is a service whose first work ends the node.
type once struct {
	Plain
	calls *int
}

func (o once) Work(config.Role, func(error)) (Work, func(context.Context)) {
	return func(context.Context, election.Leadership) error {
		*o.calls++
		return &FinalError{Result: errors.New("over")}
	}, nil
}

// Another term may begin before the node has ended: its role does not begin, and waits for the term's end.
func TestNoWorkBeginsAfterTheLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		n := &Node{services: &services{byTable: map[string]Service{"made": once{calls: &calls}}}}
		n.asked, n.finish = context.WithCancelCause(t.Context())
		w, _ := n.work(config.Role{Section: "made"}, nil)
		for range 2 {
			ctx, endTerm := context.WithTimeout(t.Context(), time.Minute)
			began := time.Now()
			_ = w(ctx, election.Leadership{})
			if took := time.Since(began); took != time.Minute {
				t.Errorf("the role returned %s after the begin of its term, want 1m", took)
			}
			endTerm()
		}
		if calls != 1 {
			t.Errorf("the work began %d times, want once", calls)
		}
	})
}
