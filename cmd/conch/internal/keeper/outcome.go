//go:build unix

package keeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/conchhq/conch/fence"
)

// Why a command was ended that conch did not ask to end.
var (
	ErrLate       = fmt.Errorf("the command was ended: %w", fence.ErrLate)
	ErrKeeperDied = errors.New("the keeper of the command was killed, and the command with it")
)

// Outcome is how a command ended, by its keeper's reports. Read it only when the keeper is done.
type Outcome struct {
	Log        *slog.Logger
	Unstarted  error   // why it could not be started
	Exit       *Report // of its main process; nil if it never began or died with its keeper
	KeeperDied bool    // its keeper was killed
}

// Note records a report and logs what a person should know.
func (o *Outcome) Note(r Report) {
	ctx := context.Background()
	switch r.Kind {
	case Running:
		o.Log.InfoContext(ctx, "the command runs", slog.Int("pid", r.PID))
	case Unstarted:
		o.Unstarted = errors.New(r.Error)
	case MainExited:
		o.Exit = &r
	case Overdue:
		o.Log.ErrorContext(ctx, "THE COMMAND OUTLIVES ITS DEADLINE: a process of it cannot be killed; leadership is not released until that process is gone")
	case KeeperDied:
		o.KeeperDied = true
		o.Log.ErrorContext(ctx, "the keeper was killed, and the command died with it; conch kills the remaining processes")
	case Empty:
	}
}

// Err returns what went wrong with a command that was not asked to end; nil if nothing did.
func (o *Outcome) Err() error {
	switch {
	case o.Unstarted != nil:
		return fmt.Errorf("the command cannot be started: %w", o.Unstarted)
	case o.KeeperDied:
		return ErrKeeperDied
	case o.Exit == nil:
		return nil // it never began
	case o.Exit.Cause == Late:
		return ErrLate
	case o.Exit.Signal != 0 || o.Exit.Code != 0:
		return o.End()
	}
	return nil
}

// End returns how the main process ended, well or not; nil if it never began.
func (o *Outcome) End() error {
	switch {
	case o.Exit == nil:
		return nil
	case o.Exit.Signal != 0:
		return fmt.Errorf("the command was ended by signal %d", o.Exit.Signal)
	}
	return fmt.Errorf("the command ended with code %d", o.Exit.Code)
}

// Code returns the main process's exit code as a shell gives it; 0 if it never began.
func (o *Outcome) Code() int {
	switch {
	case o.Exit == nil && !o.KeeperDied:
		return 0
	case o.Exit == nil:
		return signalBase + sigkill
	case o.Exit.Signal != 0:
		return signalBase + o.Exit.Signal
	}
	return o.Exit.Code
}

// Environ returns the variables that a command gets in addition to conch's own environment. If
// url is empty, the standard PG* variables name the database, and the command inherits them.
func Environ(token fence.Token, id, url string) []string {
	env := []string{
		"CONCH_SCOPE=" + token.Scope, fmt.Sprintf("CONCH_EPOCH=%d", token.Epoch),
		"CONCH_TERM=" + token.Term.String(), "CONCH_ID=" + id,
	}
	if url != "" {
		env = append(env, "CONCH_DB_URL="+url)
	}
	return env
}
