// Package outage says loudly that the database cannot be asked, seldom enough not to
// drown the log, and once that it can be again (requirement S21): for each program that
// campaigns, in place of what its electors would say at every attempt.
package outage

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
)

// Every bounds how often a database that is away is complained about: often enough to be
// seen in any window of a log, not so often as to drown it.
const Every = 10 * time.Second

// Teller hears of the database from electors. Log and Scopes are required.
type Teller struct {
	Log    *slog.Logger
	Scopes func() []string
	Now    func() time.Time // default time.Now

	mu   sync.Mutex
	good time.Time // when it last answered
	said time.Time // the zero time while all is well
	bids time.Time // when a bid was last said to have failed
}

func (t *Teller) fact(f election.Fact) {
	switch f.Kind {
	case election.Following:
		t.answered() // a follower that never bids has no other sign
		return
	case election.Retrying:
	default:
		return
	}
	if _, silent := errors.AsType[*pg.SilenceError](f.Err); silent {
		return // the database is well, and the elector says what was not
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if f.Scope != "" {
		t.bidFailed(now, f)
		return
	}
	if !t.said.IsZero() && now.Sub(t.said) < Every {
		return
	}
	t.said = now
	attrs := []slog.Attr{slog.String("role", "FOLLOWER"), slog.Any("scopes", t.Scopes())}
	if t.good.IsZero() {
		attrs = append(attrs, slog.String("stale_for", "ever: it has not answered yet"))
	} else {
		attrs = append(attrs, slog.Duration("stale_for", now.Sub(t.good).Round(time.Millisecond)))
	}
	attrs = append(attrs, slog.Duration("retry_in", f.After), slog.String("error", pgmint.Sentence(f.Err)))
	t.Log.LogAttrs(context.Background(), slog.LevelError,
		"DATABASE UNREACHABLE: this process is a FOLLOWER, its view of the leader is STALE, and it cannot be promoted", attrs...)
}

// bidFailed: the database is there, and something about a scope is not. Where many fail
// they fail alike, so that one stands for all.
func (t *Teller) bidFailed(now time.Time, f election.Fact) {
	if !t.bids.IsZero() && now.Sub(t.bids) < Every {
		return
	}
	t.bids = now
	t.Log.LogAttrs(context.Background(), slog.LevelError, "BID FAILED: this process is a FOLLOWER, and it cannot be promoted",
		slog.String("role", "FOLLOWER"), slog.String("scope", f.Scope), slog.Duration("retry_in", f.After), slog.String("error", pgmint.Sentence(f.Err)))
}

func (t *Teller) now() time.Time {
	if t.Now == nil {
		return time.Now()
	}
	return t.Now()
}

// answered is called whenever the database did.
func (t *Teller) answered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if !t.said.IsZero() {
		t.Log.Warn("database recovered: this process campaigns again", slog.Duration("was_stale_for", sinceOr(now, t.good)))
	}
	t.good, t.said = now, time.Time{}
}

func sinceOr(now, then time.Time) time.Duration {
	if then.IsZero() {
		return 0
	}
	return now.Sub(then).Round(time.Millisecond)
}

// Events of one elector, as far as they tell of the database.
func (t *Teller) Events() election.Events {
	return election.Events{
		Fact: t.fact,
		Beat: func(b election.Heartbeat) {
			if b.Err == nil {
				t.answered()
			}
		},
		Attempt: func(b election.Bidding) {
			if b.Err == nil {
				t.answered()
			}
		},
	}
}

// Hushed is a log without the elector's own complaints about the database, of which it has
// one for each attempt: a Teller says them, less often and with more.
func Hushed(log *slog.Logger) *slog.Logger { return slog.New(hushed{log.Handler()}) }

type hushed struct{ slog.Handler }

func (h hushed) Enabled(ctx context.Context, l slog.Level) bool {
	return l < slog.LevelError && h.Handler.Enabled(ctx, l)
}

func (h hushed) WithAttrs(attrs []slog.Attr) slog.Handler { return hushed{h.Handler.WithAttrs(attrs)} }
func (h hushed) WithGroup(name string) slog.Handler       { return hushed{h.Handler.WithGroup(name)} }
