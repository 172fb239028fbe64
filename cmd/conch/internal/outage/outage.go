// Package outage logs that the database is unreachable, loudly but not so often as to drown the log,
// and once that it is back (S21). It replaces what electors would log at every attempt.
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

// Every is the pause between two complaints about a database that is away: any excerpt of a log shows
// one, and they do not drown the log.
const Every = 10 * time.Second

// Teller learns about the database from electors. Log and Scopes are required.
type Teller struct {
	Log    *slog.Logger
	Scopes func() []string
	Now    func() time.Time // default time.Now

	mu   sync.Mutex
	good time.Time // when the database last answered
	said time.Time // when the last complaint was logged; zero while all is well
	bids time.Time // when a failed bid was last logged
}

func (t *Teller) fact(f election.Fact) {
	switch f.Kind {
	case election.Following:
		t.answered()
		return
	case election.Retrying:
	default:
		return
	}
	if _, silent := errors.AsType[*pg.SilenceError](f.Err); silent {
		return // this process was silent for too long, not the database; the elector logs SESSION LOST
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
		attrs = append(attrs, slog.String("stale_for", "always: the database has not answered yet"))
	} else {
		attrs = append(attrs, slog.Duration("stale_for", now.Sub(t.good).Round(time.Millisecond)))
	}
	attrs = append(attrs, slog.Duration("retry_in", f.After), slog.String("error", pgmint.Sentence(f.Err)))
	what := "DATABASE UNREACHABLE"
	if _, locked := errors.AsType[*pg.LockedError](f.Err); locked {
		what = "TABLES LOCKED" // the database answers
	}
	t.Log.LogAttrs(context.Background(), slog.LevelError, what+": this process is a FOLLOWER, its view of the leader is STALE, and it cannot be promoted", attrs...)
}

// bidFailed logs that the database answers and that a bid or a registration for one scope fails. Many
// fail alike, so one stands for all.
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

// answered notes that the database has answered.
func (t *Teller) answered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if !t.said.IsZero() {
		t.Log.Warn("database recovered: this process campaigns again", slog.Duration("was_stale_for", age(now, t.good)))
	}
	t.good, t.said = now, time.Time{}
}

// age is 0 if there was no answer yet.
func age(now, then time.Time) time.Duration {
	if then.IsZero() {
		return 0
	}
	return now.Sub(then).Round(time.Millisecond)
}

// Events returns the events by which one elector reports on the database.
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

// Hushed returns a log that drops errors. An elector logs errors only for failed calls to the mint, at
// every attempt; a Teller logs these less often and with more detail.
func Hushed(log *slog.Logger) *slog.Logger { return slog.New(hushed{log.Handler()}) }

type hushed struct{ slog.Handler }

func (h hushed) Enabled(ctx context.Context, l slog.Level) bool {
	return l < slog.LevelError && h.Handler.Enabled(ctx, l)
}

func (h hushed) WithAttrs(attrs []slog.Attr) slog.Handler { return hushed{h.Handler.WithAttrs(attrs)} }
func (h hushed) WithGroup(name string) slog.Handler       { return hushed{h.Handler.WithGroup(name)} }
