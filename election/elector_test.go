package election_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubbleClock returns a clock of the bubble's virtual time.
func bubbleClock() fence.Clock {
	start := time.Now()
	return func() fence.Instant { return fence.Instant(time.Since(start)) + 1 }
}

func start(t *testing.T, cfg election.Config) (*election.Elector, func() error) {
	t.Helper()
	e, err := election.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	return e, func() error { cancel(); return <-done }
}

// S4, S6, S9, F4: one elector leads, a clean stop hands over at once, and the epoch grows.
func TestHandover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := electiontest.NewMemory()
		clock := bubbleClock()
		lead := func(ctx context.Context, l election.Leadership) error {
			<-ctx.Done()
			var lost *election.LostError
			if !errors.As(context.Cause(ctx), &lost) || lost.Scope != "s" {
				t.Errorf("the role's context has the cause %v, want a LostError of s", context.Cause(ctx))
			}
			return nil
		}
		cfg := election.Config{Mint: memory, ID: "a", Roles: []election.Role{{Scope: "s", Lead: lead}}, Clock: clock}
		a, stopA := start(t, cfg)
		tok, err := a.Gate("s").Wait(t.Context(), fence.Act)
		if err != nil || tok.Epoch != 1 {
			t.Fatal(tok, err)
		}
		cfg.ID = "b"
		b, stopB := start(t, cfg)
		pass(10 * time.Second)
		if b.Gate("s").IsOpen(fence.Fenced) || !a.Gate("s").IsOpen(fence.Act) {
			t.Fatal("want a to lead and b to follow")
		}
		before := time.Now()
		stopped := make(chan error, 1)
		go func() { stopped <- stopA() }()
		tok, err = b.Gate("s").Wait(t.Context(), fence.Act)
		if err != nil || tok.Epoch != 2 {
			t.Fatal(tok, err)
		}
		if took := time.Since(before); took > 20*time.Millisecond {
			t.Errorf("a clean handover took %s of virtual time, want at most 20ms", took)
		}
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		var lost *election.LostError
		if _, err := a.Gate("s").Require(fence.Act); !errors.As(err, &lost) || lost.Epoch != 1 {
			t.Errorf("the gate of the one that stopped says %v, want a LostError of epoch 1", err)
		}
		if err := stopB(); err != nil {
			t.Fatal(err)
		}
	})
}

// After a crash the fenced door opens at once and the act door a lease later.
func TestCrashHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := electiontest.NewMemory()
		cfg := election.Config{Mint: memory, ID: "b", Roles: []election.Role{{Scope: "s"}}, Clock: bubbleClock()}
		var dead int64
		memory.With(func(now time.Duration, s *store.Store) {
			dead = s.Open(now, mint.Candidate{ID: "a", Lease: time.Second, Takeover: mint.Strict}, store.SessionLocks)
			if _, err := s.Try(now, dead, []mint.Bid{{Scope: "s", Lease: time.Second}}); err != nil {
				t.Fatal(err)
			}
		})
		b, stop := start(t, cfg)
		synctest.Wait()
		before := time.Now()
		memory.With(func(_ time.Duration, s *store.Store) { s.End(dead) })
		if _, err := b.Gate("s").Wait(t.Context(), fence.Fenced); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(before); took > 30*time.Millisecond {
			t.Errorf("the fenced door took %s, want at most 30ms", took)
		}
		if _, err := b.Gate("s").Wait(t.Context(), fence.Act); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(before); took < 3*time.Second || took > 3100*time.Millisecond {
			t.Errorf("the act door took %s, want its own lease of 3s", took)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}
