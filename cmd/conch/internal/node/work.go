package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

// Work is what a role does while it leads. It must return only when everything that it began
// has ended, since its return is promised to the successor. If it returns a *FinalError, the node ends.
type Work func(ctx context.Context, l election.Leadership) error

// ErrGone ends a term whose role was removed by a reload while the term began.
var ErrGone = errors.New("a reload has removed it from the configuration")

// FinalError is the error of a role whose end is that of its node, as the command's of conch run is.
type FinalError struct {
	Result error // what Run returns
	Why    error // the reason that the history shows for the end of the node; nil: none
}

func (e *FinalError) Error() string { return fmt.Sprintf("the node ends with its role: %v", e.Result) }

// work is the service's Work of a role, as the node runs it: what the role does while it leads, and its
// background work.
//
// Once the node has been asked to end, the role begins no work, and returns only when its term ends,
// so that the history shows why the node ends.
func (n *Node) work(r config.Role, resign func(why error)) (w Work, background func(ctx context.Context)) {
	service := n.services.byTable[r.Section]
	if service == nil { // cannot happen: the section of a role is that of a kind
		return func(context.Context, election.Leadership) error {
			return fmt.Errorf("no service works on roles of %q", r.Section)
		}, nil
	}
	inner, background := service.Work(r, resign)
	if inner == nil {
		return nil, background
	}
	return func(ctx context.Context, l election.Leadership) (err error) {
		if n.asked.Err() == nil {
			err = inner(ctx, l)
		}
		if shut, ok := errors.AsType[*fence.ShutError](err); ok { // (S17)
			n.meters.Blocked(shut.Scope)
			n.log.Warn("refused: not the leader", slog.String("scope", shut.Scope), slog.String("holder", shut.Holder), slog.Any("error", err))
		}
		if final, ok := errors.AsType[*FinalError](err); ok && n.final.CompareAndSwap(nil, final) {
			n.finish(final.Why)
		}
		if n.asked.Err() != nil {
			<-ctx.Done()
		}
		return err
	}, background
}

// Pauses after a failed term, before this node campaigns for the role again.
const (
	firstRest   = time.Second
	longestRest = time.Minute
)

// restAfterFailure pauses the campaign for a role after each failure, longer each time: another node
// may succeed, and if none does, the scope does not change hands all the time. A role that
// ended because its gate was late has not failed.
func restAfterFailure(w Work, rest func(time.Duration)) Work {
	rests := pause.Growing{First: firstRest, Most: longestRest} // needs no lock: one term at a time
	return func(ctx context.Context, l election.Leadership) error {
		began := time.Now()
		err := w(ctx, l)
		own := ctx.Err() == nil || errors.Is(context.Cause(ctx), election.ErrResigned)
		if own && err != nil && !errors.Is(err, fence.ErrLate) {
			rest(rests.After(time.Since(began)))
		} else {
			rests.Reset()
		}
		return err
	}
}
