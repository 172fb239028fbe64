//go:build unix

package consortium

import (
	"context"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgnotes"
)

// watched bounds what the supervisor asks a database.
const watched = 2 * time.Second

// isOver reports whether the wait for the end is over, with or without success: every transaction has ended, and every
// node has followed the ledger to a block that comes after that.
func (s *supervisor) isOver(ctx context.Context, now time.Time) bool {
	switch {
	case s.ending.IsZero():
		return false
	case now.Sub(s.ending) >= settleMost:
		s.screen.Note("after %s not everything has ended", settleMost)
		return true
	}
	for _, c := range s.customers {
		if !c.settled() {
			return false
		}
	}
	if s.target == 0 {
		s.target = s.head()
		s.screen.Note("every transaction has ended; waiting until all nodes have block %d as final …", s.target)
	}
	for i, c := range s.customers {
		if at := c.seen(); at.Final < s.target || at.Missing > 0 {
			return false
		}
		var p pgnotes.Progress
		err := s.read(ctx, i, func(ctx context.Context, r *pgnotes.Reader) (err error) {
			p, err = r.Progress(ctx)
			return err
		})
		if err != nil || p.Missing > 0 {
			return false
		}
	}
	return true
}

// dispatched looks for the first dispatch of another node after the last kill of a coordinator, which may have had one
// under way when it died.
func (s *supervisor) dispatched(ctx context.Context) {
	if s.killed.IsZero() {
		return
	}
	var first time.Time
	for i, o := range s.All {
		if o == s.fallen {
			continue
		}
		var at time.Time
		err := s.read(ctx, i, func(ctx context.Context, r *pgnotes.Reader) (err error) {
			at, err = r.DispatchSince(ctx, s.killed)
			return err
		})
		if err == nil && !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.IsZero() {
		return
	}
	took := first.Sub(s.killed)
	s.dispatches, s.killed = append(s.dispatches, took), time.Time{}
	s.screen.Note("the next dispatch was stored %s after the kill", took.Round(time.Millisecond))
}

// read asks the database of an organisation, which may have been away: then the next one connects anew.
func (s *supervisor) read(ctx context.Context, i int, do func(context.Context, *pgnotes.Reader) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, watched)
	defer cancel()
	if s.readers[i] == nil {
		if s.readers[i], err = pgnotes.Open(ctx, s.All[i].db, s.contract); err != nil {
			return err
		}
	}
	if err = do(ctx, s.readers[i]); err != nil {
		s.shut(i)
	}
	return err
}

func (s *supervisor) shut(i int) {
	if r := s.readers[i]; r != nil {
		r.Close(context.Background())
		s.readers[i] = nil
	}
}
