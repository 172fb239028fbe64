package election

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
)

// tell passes a fact to the log and the events.
func (e *Elector) tell(f Fact) {
	e.log(f)
	if fn := e.cfg.Events.Fact; fn != nil {
		fn(f)
	}
	if fn := e.cfg.Events.StateChanged; fn != nil {
		switch f.Kind {
		case Acquired:
			fn(StateChanged{Scope: f.Scope, IsLeader: true, Epoch: f.Token.Epoch})
		case Draining, Lost:
			fn(StateChanged{Scope: f.Scope, Epoch: f.Token.Epoch})
		}
	}
}

// log writes one line per fact (S32), as a warning or an error where a person should look (S21).
func (e *Elector) log(f Fact) {
	attrs := []slog.Attr{slog.String("id", e.cfg.ID)}
	if f.Scope != "" {
		attrs = append(attrs, slog.String("scope", f.Scope))
	}
	if f.Token.Epoch != 0 {
		attrs = append(attrs, slog.Int64("epoch", f.Token.Epoch), slog.String("term", f.Token.Term.String()))
	}
	if f.Err != nil {
		attrs = append(attrs, slog.String("reason", strings.Join(strings.Fields(f.Err.Error()), " "))) // on one line
	}
	level, text := headline(f)
	e.cfg.Logger.LogAttrs(context.WithoutCancel(e.ctx), level, text, append(attrs, details(f)...)...)
}

// headline returns the level and the message of a fact's log line.
func headline(f Fact) (slog.Level, string) {
	switch f.Kind {
	case Unled:
		return slog.LevelWarn, "NOBODY LEADS this scope"
	case Failing:
		return slog.LevelWarn, "the role failed, its scope is given up"
	case Unsaid:
		return slog.LevelWarn, "the scope is given up and the database cannot be told yet"
	case Cautioned:
		return slog.LevelWarn, "the connection to the database works but has a drawback"
	case Retrying:
		var silence interface{ Silent() bool }
		var locked interface{ Locked() bool }
		switch {
		case f.Scope != "":
			return slog.LevelError, "bid failed"
		case errors.As(f.Err, &silence) && silence.Silent(): // the mint is there, but this process was silent
			return slog.LevelWarn, "SESSION LOST: this process was silent for longer than its lease, and campaigns again"
		case errors.As(f.Err, &locked) && locked.Locked(): // the mint is there, but nobody can read or write
			return slog.LevelError, "TABLES LOCKED: this process is a FOLLOWER, its view of the leader is STALE, and it cannot be promoted"
		}
		return slog.LevelError, "DATABASE UNREACHABLE: this process is a FOLLOWER, its view of the leader is STALE, and it cannot be promoted"
	case Stale, Late, Lost, Abandoned, Barred, Blocked, Evicted:
		return slog.LevelWarn, "leadership " + string(f.Kind)
	case Following, Acquired, Entered, Resumed, Draining, Released:
	}
	return slog.LevelInfo, "leadership " + string(f.Kind)
}

// details returns the attributes that only some facts have.
func details(f Fact) (attrs []slog.Attr) {
	switch f.Kind {
	case Following:
		return []slog.Attr{slog.String("holder", f.Holder)}
	case Unled:
		return []slog.Attr{slog.Duration("for", f.Took.Round(time.Millisecond))}
	case Failing:
		return []slog.Attr{slog.Duration("next_try_in", f.After)}
	case Stale:
		return []slog.Attr{slog.String("holder", f.Holder), slog.Duration("since_heartbeat", f.Took)}
	case Acquired:
		return []slog.Attr{slog.Duration("act_door_in", f.Hold), slog.Bool("handoff", f.Handoff)}
	case Retrying:
		return []slog.Attr{slog.Duration("retry_in", f.After)}
	case Evicted:
		return []slog.Attr{slog.Any("blockers", f.Blockers)}
	case Blocked:
		for _, b := range f.Blockers {
			attrs = append(attrs, slog.String("by", b.What))
		}
	case Entered, Resumed, Draining, Released, Late, Lost, Abandoned, Barred, Unsaid, Cautioned:
	}
	return attrs
}
