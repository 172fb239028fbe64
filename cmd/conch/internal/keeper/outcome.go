//go:build unix

package keeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/conchhq/conch/fence"
)

// Why a command ended that nobody asked to.
var (
	ErrLate      = fmt.Errorf("the command was ended: %w", fence.ErrLate)
	ErrAbandoned = errors.New("the keeper of the command was killed, and the command with it")
)

// Outcome is how a command ended, gathered from the reports of its keeper. It may be
// read when the keeper is done.
type Outcome struct {
	Log       *slog.Logger
	Unstarted error   // why it could not be started
	Gone      *Report // its main process; nil if it never began or died with its keeper
	Abandoned bool    // its keeper was killed
}

// Note takes a report in and logs what a person should know.
func (o *Outcome) Note(r Report) {
	ctx := context.Background()
	switch r.Kind {
	case Running:
		o.Log.InfoContext(ctx, "the command runs", slog.Int("pid", r.PID))
	case Unstarted:
		o.Unstarted = errors.New(r.Error)
	case Gone:
		o.Gone = &r
	case Overdue:
		o.Log.ErrorContext(ctx, "THE COMMAND OUTLIVES ITS DEADLINE: something of it cannot be killed; leadership is not released before it is gone")
	case Abandoned:
		o.Abandoned = true
		o.Log.ErrorContext(ctx, "the keeper was killed: the command died with it, killing what is left")
	case Empty:
	}
}

// Err says what went wrong with a command that was not asked to end.
func (o *Outcome) Err() error {
	switch {
	case o.Unstarted != nil:
		return fmt.Errorf("the command cannot be started: %w", o.Unstarted)
	case o.Abandoned:
		return ErrAbandoned
	case o.Gone == nil:
		return nil // it never began
	case o.Gone.Cause == Late:
		return ErrLate
	case o.Gone.Signal != 0 || o.Gone.Code != 0:
		return o.End()
	}
	return nil
}

// End says how the main process ended, well or not; nil if it never began.
func (o *Outcome) End() error {
	switch {
	case o.Gone == nil:
		return nil
	case o.Gone.Signal != 0:
		return fmt.Errorf("the command was ended by signal %d", o.Gone.Signal)
	}
	return fmt.Errorf("the command ended with code %d", o.Gone.Code)
}

// Code is the main process's exit code as a shell would say it; 0 if it never began.
func (o *Outcome) Code() int {
	switch {
	case o.Gone == nil && !o.Abandoned:
		return 0
	case o.Gone == nil:
		return signalled + sigkill
	case o.Gone.Signal != 0:
		return signalled + o.Gone.Signal
	}
	return o.Gone.Code
}

// Environ is what a command finds in its environment beside what conch has. The url
// may be empty: then the standard PG* variables say where the database is, which the
// command has too.
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
