//go:build unix

package keeper

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

// Pauses between restarts of a command in one term.
const (
	firstRestartPause   = 200 * time.Millisecond
	longestRestartPause = 30 * time.Second
)

// Supervision describes the command of a role. Supervise sets the Env of its Config.
type Supervision struct {
	Config
	Log      *slog.Logger
	ID       string        // the candidate's
	Database string        // the database URL for the command; see Environ
	Hidden   []string      // variables that the command does not get from conch's environment
	Door     fence.Door    // the command runs while this door is open
	Within   time.Duration // see Follow
	Restart  bool          // restart the command in the same term when it exits by itself
	// Ending is closed when the command must not be started any more; nil means never.
	Ending <-chan struct{}
	// OnStart, if set, is given each keeper that has started. Supervise calls onEnd when no
	// process of the command is left, before it checks Ending.
	OnStart func(k *Keeper) (onEnd func())
}

// Supervise runs the command, with restarts if Restart is set, until the leadership or the
// command ends. It returns only when no process of the command is left: only then may the
// leadership be released.
func Supervise(ctx context.Context, l election.Leadership, s Supervision) Verdict {
	s.Log = s.Log.With(slog.String("scope", l.Token.Scope), slog.Int64("epoch", l.Token.Epoch))
	pauses := pause.Growing{First: firstRestartPause, Most: longestRestartPause}
	for ctx.Err() == nil && !s.ending() {
		began := time.Now()
		v := s.runOnce(ctx, l)
		if !v.Again {
			return v
		}
		wait := pauses.After(time.Since(began))
		s.Log.Warn("the command ended and will be restarted", slog.Duration("in", wait))
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-s.Ending:
		}
		timer.Stop()
	}
	return Verdict{Final: s.ending()}
}

// runOnce runs the command without restarts.
func (s *Supervision) runOnce(ctx context.Context, l election.Leadership) Verdict {
	out := Outcome{Log: s.Log}
	cfg := s.Config
	cfg.Env = append(slices.DeleteFunc(os.Environ(), func(setting string) bool {
		name, _, _ := strings.Cut(setting, "=")
		return slices.Contains(s.Hidden, name)
	}), Environ(l.Token, s.ID, s.Database)...)
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
	onEnd := func() {}
	if s.OnStart != nil {
		onEnd = s.OnStart(k)
	}
	k.Follow(ctx, l, s.Door, s.Within)
	onEnd()
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

// Verdict says what follows from the end of a command.
type Verdict struct {
	Again bool  // restart the command in the same term
	Err   error // what went wrong: the role's error
	// Final reports whether the command has ended for good: neither with the leadership nor by
	// a fault that may not recur in another term. The fields below describe such an end.
	Final     bool
	Why       error // why it is final; nil if Ending was closed
	Code      int   // the exit code, as a shell gives it
	Unstarted error // why the command cannot be started
}

// judge returns the verdict on a command from its keeper's reports. ending means that conch is
// to end, restart that a command that exits by itself is restarted.
func judge(out *Outcome, ending, restart bool) Verdict {
	cause := Itself
	if out.Exit != nil {
		cause = out.Exit.Cause
	}
	final := Verdict{Final: true, Err: out.Err(), Code: out.Code(), Unstarted: out.Unstarted}
	switch {
	case out.Unstarted != nil:
		final.Why = final.Err
	case ending: // even if it was killed with its keeper, or never began
		final.Err = nil
	case out.KeeperDied, out.Exit == nil, cause == Late:
		return Verdict{Err: out.Err()}
	case cause == Ended:
		return Verdict{} // asked to end, since the leadership ended
	case cause == Itself && restart:
		return Verdict{Again: true}
	default:
		final.Why = out.End()
	}
	return final
}
