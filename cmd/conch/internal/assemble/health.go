package assemble

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
)

// loudEvery bounds how often a database that is away is complained about: often
// enough to be seen in any window of a log, not so often as to drown it.
const loudEvery = 10 * time.Second

// health says loudly that the database can not be asked, and once that it can be
// again (requirement S21).
type health struct {
	log    *slog.Logger
	scopes func() []string
	now    func() time.Time

	mu   sync.Mutex
	good time.Time // when it last answered
	said time.Time // the zero time while all is well
}

func (h *health) fact(f election.Fact) {
	if f.Kind != election.Retrying {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if !h.said.IsZero() && now.Sub(h.said) < loudEvery {
		return
	}
	h.said = now
	attrs := []slog.Attr{slog.String("role", "FOLLOWER"), slog.Any("scopes", h.scopes())}
	if h.good.IsZero() {
		attrs = append(attrs, slog.String("stale_for", "ever: it has not answered yet"))
	} else {
		attrs = append(attrs, slog.Duration("stale_for", now.Sub(h.good).Round(time.Millisecond)))
	}
	attrs = append(attrs, slog.Duration("retry_in", f.After), slog.String("error", pgmint.Sentence(f.Err)))
	h.log.LogAttrs(context.Background(), slog.LevelError,
		"DATABASE UNREACHABLE: this node is a FOLLOWER, its view of who leads is STALE, and it can not be promoted", attrs...)
}

// answered is called whenever the database did.
func (h *health) answered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if !h.said.IsZero() {
		h.log.Warn("database recovered: this node campaigns again", slog.Duration("was_stale_for", sinceOr(now, h.good)))
	}
	h.good, h.said = now, time.Time{}
}

func sinceOr(now, then time.Time) time.Duration {
	if then.IsZero() {
		return 0
	}
	return now.Sub(then).Round(time.Millisecond)
}

// events of one elector, as far as they tell of the database.
func (h *health) events() election.Events {
	return election.Events{
		Fact: h.fact,
		Beat: func(b election.Heartbeat) {
			if b.Err == nil {
				h.answered()
			}
		},
		Attempt: func(b election.Bidding) {
			if b.Err == nil {
				h.answered()
			}
		},
	}
}

// hushed is a log without the elector's own complaints about the database, of
// which it has one for each attempt: health says them, less often and with more.
type hushed struct{ slog.Handler }

func (h hushed) Enabled(ctx context.Context, l slog.Level) bool {
	return l < slog.LevelError && h.Handler.Enabled(ctx, l)
}

func (h hushed) WithAttrs(attrs []slog.Attr) slog.Handler { return hushed{h.Handler.WithAttrs(attrs)} }
func (h hushed) WithGroup(name string) slog.Handler       { return hushed{h.Handler.WithGroup(name)} }
