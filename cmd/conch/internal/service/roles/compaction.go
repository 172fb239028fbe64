package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

const (
	compactEvery = time.Hour
	compactFirst = time.Second            // after a term has begun
	compactAgain = 10 * time.Second       // after a failure: a transaction that takes longer than the gate is open has one
	compactLull  = 200 * time.Millisecond // between two transactions
)

// compact has each service delete what is older than that, or move it out of the way, a little at a time. One that fails keeps no other from it.
func (s *service) compact(door fence.Door, keep time.Duration) node.Work {
	return func(ctx context.Context, l election.Leadership) error {
		for rest := compactFirst; pause.For(ctx, rest) == nil; {
			rest = compactEvery
			gone, err := s.compactOnce(ctx, door, l.Gate, keep)
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the term is over
			}
			s.frame.Log.LogAttrs(ctx, slog.LevelInfo, "the tables are compacted", counted(gone)...)
			if err != nil {
				rest = compactAgain
				s.frame.Log.Warn("not all tables could be compacted, and it is tried again", slog.Any("error", err))
			}
		}
		return nil
	}
}

// counted names each kind of rows with its count.
func counted(gone map[string]int) (all []slog.Attr) {
	for _, kind := range slices.Sorted(maps.Keys(gone)) {
		all = append(all, slog.Int(kind, gone[kind]))
	}
	return all
}

func (s *service) compactOnce(ctx context.Context, door fence.Door, gate *fence.Gate, keep time.Duration) (gone map[string]int, err error) {
	gone = map[string]int{}
	for _, one := range s.frame.Services() {
		if c, is := one.(node.Compactor); is {
			err = errors.Join(err, compactAll(ctx, door, gate, keep, c, gone))
		}
	}
	return gone, err
}

// compactAll goes through what one service has, a transaction at a time, and adds up what is gone.
func compactAll(ctx context.Context, door fence.Door, gate *fence.Gate, keep time.Duration, c node.Compactor, gone map[string]int) error {
	for after, more := "", true; more; more = after != "" {
		err := gate.Do(ctx, door, 0, func(ctx context.Context, token fence.Token) error {
			some, next, err := c.Compact(ctx, token, keep, after)
			for kind, n := range some {
				gone[kind] += n
			}
			after = next
			return err
		})
		if err != nil {
			return err
		}
		if err := pause.For(ctx, compactLull); err != nil {
			return err
		}
	}
	return nil
}

// Compact implements node.Compactor: it deletes what scopes have done, and requests to leaders that have ended.
func (s *service) Compact(ctx context.Context, token fence.Token, keep time.Duration, after string) (gone map[string]int, next string, err error) {
	from := int64(0)
	if after != "" {
		if from, err = strconv.ParseInt(after, 10, 64); err != nil {
			return nil, "", fmt.Errorf("no place in the history: %w", err) // cannot happen: it is what this has returned
		}
	}
	t, err := pgops.OpenTrimmer(ctx, *s.frame.Database)
	if err != nil {
		return nil, "", err
	}
	defer t.Close()
	done, err := t.Trim(ctx, token, time.Now().Add(-keep), from)
	if done.More {
		next = strconv.FormatInt(done.Next, 10)
	}
	return map[string]int{"leadership_history": done.History, "requests": done.Requests}, next, err
}
