//go:build unix

package keeper

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/backoff"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// Pauses before a command is started again in one term.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 30 * time.Second
)

// Supervision describes the command of a role. Supervise fills in the Env of its Config.
type Supervision struct {
	Config
	Log      *slog.Logger
	ID       string        // of the candidate
	Database string        // the URL that the command is given; see Environ
	Door     fence.Door    // the command runs while this one is open
	Within   time.Duration // see Follow
	Restart  bool          // start the command again in the same term when it exits by itself
	// Ending is closed when the command is not to be started any more; nil if there is no
	// such time.
	Ending <-chan struct{}
	// Attend, if set, is given each keeper that has started. Supervise calls leave when
	// nothing of its command is left, before it looks whether Ending is closed.
	Attend func(k *Keeper) (leave func())
}

// Supervise runs the command until the leadership ends or the command does, and starts it
// again in between if Restart says so. It returns only when nothing of the command is left:
// then, and only then, may the leadership be released.
func Supervise(ctx context.Context, l election.Leadership, s Supervision) Verdict {
	s.Log = s.Log.With(slog.String("scope", l.Token.Scope), slog.Int64("epoch", l.Token.Epoch))
	pauses := backoff.Pauses{First: firstPause, Most: longestPause}
	for ctx.Err() == nil && !s.ending() {
		began := time.Now()
		v := s.once(ctx, l)
		if !v.Again {
			return v
		}
		pause := pauses.After(time.Since(began))
		s.Log.Warn("the command ended and is started again", slog.Duration("in", pause))
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-s.Ending:
		}
		timer.Stop()
	}
	return Verdict{Final: s.ending()}
}

// once runs the command one time.
func (s *Supervision) once(ctx context.Context, l election.Leadership) Verdict {
	out := Outcome{Log: s.Log}
	cfg := s.Config
	cfg.Env = append(os.Environ(), Environ(l.Token, s.ID, s.Database)...)
	cfg.Report = func(r Report) {
		out.Note(r)
		if s.Report != nil {
			s.Report(r)
		}
	}
	k, err := Keep(cfg)
	if err != nil {
		return Verdict{Err: fmt.Errorf("the keeper of the command cannot be started: %w", err)}
	}
	leave := func() {}
	if s.Attend != nil {
		leave = s.Attend(k)
	}
	k.Follow(ctx, l, s.Door, s.Within)
	leave()
	return judge(&out, s.ending(), s.Restart)
}

func (s *Supervision) ending() bool {
	select {
	case <-s.Ending:
		return true
	default:
		return false
	}
}

// Verdict is what the end of a command means.
type Verdict struct {
	Again bool  // the command is started again in the same term
	Err   error // what went wrong; the role ends its term with it
	// Final reports whether the command has ended for good: not with the leadership, nor by
	// a fault that another term may be spared. The rest is about such an end.
	Final     bool
	Why       error // why it is final; nil if Ending was closed
	Code      int   // the exit code, as a shell gives it
	Unstarted error // why the command cannot be started
}

// judge decides from what the keeper reported, from whether the command is to end for good,
// and from whether it is started again when it exits.
func judge(out *Outcome, ending, restart bool) Verdict {
	cause := Itself
	if out.Gone != nil {
		cause = out.Gone.Cause
	}
	final := Verdict{Final: true, Err: out.Err(), Code: out.Code(), Unstarted: out.Unstarted}
	switch {
	case out.Unstarted != nil:
		final.Why = final.Err
	case ending: // killed together with its keeper, or never begun
		final.Err = nil
	case out.Abandoned, out.Gone == nil, cause == Late:
		return Verdict{Err: out.Err()}
	case cause == Ended:
		return Verdict{} // told to by the end of the leadership
	case cause == Itself && restart:
		return Verdict{Again: true}
	default:
		final.Why = out.End()
	}
	return final
}
