package roles

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

const (
	figuresPatience = 10 * time.Second // for what one service reads
	aggregateAgain  = 5 * time.Second  // after a slot that could not be written, or sooner if slots are shorter
)

// aggregate writes down the figures of all services once in each slot.
func (s *service) aggregate(door fence.Door, slot node.Slot) node.Work {
	return func(ctx context.Context, l election.Leadership) error {
		last := ""
		for rest := time.Duration(0); pause.For(ctx, rest) == nil; {
			figures, unread := s.readFigures(ctx)
			left, err := s.record(ctx, door, l.Gate, slot, figures)
			if rest = max(left, time.Millisecond); err != nil {
				rest = min(aggregateAgain, slot.Every)
			}
			if err = errors.Join(unread, err); ctx.Err() != nil {
				return nil //nolint:nilerr // the term is over
			}
			last = s.tellOnce(last, err)
		}
		return nil
	}
}

// tellOnce says what has gone wrong, if that is not what went wrong last.
func (s *service) tellOnce(last string, err error) (now string) {
	if err != nil {
		now = err.Error()
	}
	switch now {
	case last:
	case "":
		s.frame.Log.Info("all figures are recorded again")
	default:
		s.frame.Log.Warn("not all figures could be recorded, and the next slot tries again", slog.Any("error", err))
	}
	return now
}

// readFigures returns what can be read; what one service cannot read keeps no other from it.
func (s *service) readFigures(ctx context.Context) (all []node.Figure, err error) {
	for _, one := range s.frame.Services() {
		if m, is := one.(node.Measured); is {
			ctx, cancel := context.WithTimeout(ctx, figuresPatience)
			some, failed := m.Figures(ctx)
			cancel()
			all, err = append(all, some...), errors.Join(err, failed)
		}
	}
	return all, err
}

// errNoRecorder means that this program was built without the service that keeps figures.
var errNoRecorder = errors.New("no service of this node keeps figures")

func (s *service) record(ctx context.Context, door fence.Door, gate *fence.Gate, slot node.Slot, all []node.Figure) (rest time.Duration, err error) {
	for _, one := range s.frame.Services() {
		if r, is := one.(node.Recorder); is {
			err = gate.Do(ctx, door, 0, func(ctx context.Context, token fence.Token) (err error) {
				rest, err = r.Record(ctx, token, slot, all)
				return err
			})
			return rest, err
		}
	}
	return 0, errNoRecorder
}

// Figures implements node.Measured: it counts the scopes.
func (s *service) Figures(ctx context.Context) ([]node.Figure, error) {
	o, err := pgops.Observe(ctx, *s.frame.Database)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	t, err := o.Tally(ctx)
	if err != nil {
		return nil, err
	}
	all := []node.Figure{{Name: "conch_epochs_total", Value: float64(t.Epochs)}}
	for state, n := range map[string]int{"led": t.Led, "released": t.Released, "silent": t.Silent} {
		all = append(all, node.Figure{Name: "conch_scopes", Labels: map[string]string{"state": state}, Value: float64(n)})
	}
	return all, nil
}
