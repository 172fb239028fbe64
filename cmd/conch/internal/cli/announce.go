//go:build unix

package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/outage"
	"github.com/conchhq/conch/election"
)

// announcer tells a person at a terminal what a log at its default level leaves out: whom a
// run waits for, and when it leads.
type announcer struct {
	out io.Writer
	id  string
	now string // what was said last
}

func (a *announcer) fact(f election.Fact) {
	var text string
	switch f.Kind {
	case election.Following:
		text = fmt.Sprintf("%s waits for %q, which %s leads", a.id, f.Scope, f.Holder)
	case election.Acquired:
		text = fmt.Sprintf("%s leads %q (epoch %d)", a.id, f.Scope, f.Token.Epoch)
		if f.Hold > 0 {
			text += fmt.Sprintf(", and may act in %s", f.Hold.Round(100*time.Millisecond))
		}
	default:
		return
	}
	if text != a.now {
		a.now = text
		_, _ = fmt.Fprintln(a.out, "conch: "+text)
	}
}

// watched has a campaign say on stderr what a person or a log should know of it.
func (a *app) watched(ctx context.Context, cfg election.Config, scope string) election.Config {
	base := &outage.Teller{Log: a.Log, Scopes: func() []string { return []string{scope} }}
	cfg.Events, cfg.Logger = base.Events(), outage.Hushed(a.Log)
	if here, _ := Terminal(a.Stderr); here && !a.Log.Enabled(ctx, slog.LevelInfo) {
		told, who := cfg.Events.Fact, &announcer{out: a.Stderr, id: cfg.ID}
		cfg.Events.Fact = func(f election.Fact) { told(f); who.fact(f) }
	}
	if cfg.Follower {
		a.Log.Warn("CONCH_LEADER_ENABLED=false: this process never leads, and its command is never run", slog.String("id", cfg.ID), slog.String("scope", scope))
	}
	return cfg
}
