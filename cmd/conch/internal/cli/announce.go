//go:build unix

package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/conchhq/conch/election"
)

// announcer tells a person at a terminal what the log leaves out at its default level: which
// leader a run waits for, and when it leads itself.
type announcer struct {
	say func(format string, values ...any)
	id  string
	now string // the line printed last
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
		a.say("conch: %s", text)
	}
}

// announce returns the function of an announcer, nil without a terminal or if the log says it all.
func (a *app) announce(ctx context.Context, id string) func(election.Fact) {
	if here, _ := Terminal(a.Stderr); !here || a.Log.Enabled(ctx, slog.LevelInfo) {
		return nil
	}
	return (&announcer{say: a.tell, id: id}).fact
}
