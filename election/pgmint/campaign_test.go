package pgmint_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// facts records the facts of one elector, each with the time at which it was told.
type facts struct {
	*election.Elector
	mu  sync.Mutex
	all []told
	won map[int64]fence.Instant // by epoch, when the winning bid was sent
}

type told struct {
	election.Fact
	at fence.Instant
}

// find waits for a fact.
func (f *facts) find(t *testing.T, what string, is func(told) bool) (found told) {
	t.Helper()
	pgtest.Eventually(t, 30*time.Second, what, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, one := range f.all {
			if is(one) {
				found = one
				return true
			}
		}
		return false
	})
	return found
}

func (f *facts) await(t *testing.T, kind election.Kind) told {
	t.Helper()
	return f.find(t, "the fact "+string(kind), func(one told) bool { return one.Kind == kind })
}

// among waits for a fact of any of several electors, and returns whose it is.
func among(t *testing.T, all []*facts, what string, is func(told) bool) (who *facts, found told) {
	t.Helper()
	pgtest.Eventually(t, 30*time.Second, what, func() bool {
		for _, f := range all {
			f.mu.Lock()
			for _, one := range f.all {
				if is(one) {
					who, found = f, one
				}
			}
			f.mu.Unlock()
		}
		return who != nil
	})
	return who, found
}

// campaign runs an elector for scope "s" until the test ends. If watch is not nil, it hears each fact.
func campaign(t *testing.T, address string, lease time.Duration, watch func(election.Fact)) *facts {
	t.Helper()
	f := &facts{won: map[int64]fence.Instant{}}
	e, err := election.New(election.Config{
		Mint: newMint(t, address), Lease: lease, Roles: []election.Role{{Scope: "s"}}, Logger: slog.New(slog.DiscardHandler),
		Events: election.Events{Fact: func(one election.Fact) {
			at := fence.Boottime()
			if watch != nil {
				watch(one)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.all = append(f.all, told{Fact: one, at: at})
		}, Attempt: func(b election.Bidding) {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, r := range b.Results {
				if r.Outcome == mint.Won {
					f.won[r.Token.Epoch] = b.Sent
				}
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Elector = e
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = e.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return f
}
