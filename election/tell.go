package election

import (
	"context"
	"log/slog"
)

// tell passes a fact to whoever observes: the log, the events, waiting drains.
func (e *Elector) tell(f Fact) {
	if f.Kind == Following {
		e.desks[f.Scope].latch.Heard(f.Holder)
	}
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
	switch f.Kind {
	case Released:
		e.settle(f.Scope, nil)
	case Abandoned:
		e.settle(f.Scope, ErrDrainTimeout)
	case Lost:
		e.settle(f.Scope, f.Err) // a drain came too late, or was overtaken
	}
}

// settle answers the drains that wait for a scope.
func (e *Elector) settle(scope string, err error) {
	for _, ch := range e.waiting[scope] {
		ch <- err
	}
	delete(e.waiting, scope)
}

// log writes one line a fact (S32), loud where a person should look (S21).
func (e *Elector) log(f Fact) {
	level, text := slog.LevelInfo, "leadership "+string(f.Kind)
	attrs := []slog.Attr{slog.String("id", e.cfg.ID)}
	if f.Scope != "" {
		attrs = append(attrs, slog.String("scope", f.Scope))
	}
	if f.Token.Epoch != 0 {
		attrs = append(attrs, slog.Int64("epoch", f.Token.Epoch), slog.String("term", f.Token.Term.String()))
	}
	if f.Err != nil {
		attrs = append(attrs, slog.String("reason", f.Err.Error()))
	}
	switch f.Kind {
	case Following:
		attrs = append(attrs, slog.String("holder", f.Holder))
	case Stale:
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("holder", f.Holder), slog.Duration("since_heartbeat", f.Took))
	case Acquired:
		attrs = append(attrs, slog.Duration("act_door_in", f.Hold), slog.Bool("handoff", f.Handoff))
	case Retrying:
		level = slog.LevelError
		text = "DATABASE UNREACHABLE: this process is a FOLLOWER, its view of who leads is STALE and it can not be promoted"
		if f.Scope != "" {
			text = "bid failed"
		}
		attrs = append(attrs, slog.Duration("retry_in", f.After))
	case Late, Lost, Abandoned, Barred, Blocked:
		level = slog.LevelWarn
	case Cautioned:
		level, text = slog.LevelWarn, "the way to the database costs something"
	case Evicted:
		level = slog.LevelWarn
		attrs = append(attrs, slog.Any("blockers", f.Blockers))
	case Entered, Resumed, Draining, Released:
	}
	e.cfg.Logger.LogAttrs(context.WithoutCancel(e.ctx), level, text, attrs...)
}
