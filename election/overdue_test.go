package election_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

var errDenied = errors.New("permission denied")

// denying is a mint that answers heartbeats and farewells with errors while now is true. The errors
// end no session.
type denying struct {
	mint.Mint
	now *atomic.Bool
}

func (d denying) Open(ctx context.Context, c mint.Candidate) (mint.Session, error) {
	s, err := d.Mint.Open(ctx, c)
	return denied{Session: s, now: d.now}, err
}

type denied struct {
	mint.Session
	now *atomic.Bool
}

func (d denied) Beat(ctx context.Context, pulses []mint.Pulse) ([]mint.Outcome, error) {
	if !d.now.Load() {
		return d.Session.Beat(ctx, pulses)
	}
	_, err := d.Session.Beat(ctx, nil) // a failing call still keeps the session in use
	return nil, errors.Join(errDenied, err)
}

func (d denied) Release(ctx context.Context, farewells []mint.Farewell) ([]mint.Parting, error) {
	if !d.now.Load() {
		return d.Session.Release(ctx, farewells)
	}
	_, err := d.Session.Beat(ctx, nil)
	return nil, errors.Join(errDenied, err)
}

// S11: a leader whose heartbeats are late or fail, while its session lives on, gives the scope up
// for others. Under Keep it does not.
func TestWhoCanNotActGivesWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		takeover mint.Takeover
		denied   bool // heartbeats fail; otherwise they are late
		within   time.Duration
	}{
		// The scope is given up after two leases. It is released at once, or, if farewells fail, the
		// session ends after another lease and the successor waits for the hold.
		{"late", mint.Strict, false, 10 * time.Second},
		{"late, fast", mint.Fast, false, 10 * time.Second},
		{"denied", mint.Strict, true, 17 * time.Second},
		{"late, keep", mint.Keep, false, 0},
		{"denied, keep", mint.Keep, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, b *bench) {
				var ill atomic.Bool
				slow := b.mint.Beside(store.SessionLocks)
				slow.Fault = func(call string) (f electiontest.Fault) {
					if call == "beat" && ill.Load() && !c.denied {
						f.After = 1500 * time.Millisecond
					}
					return f
				}
				change := func(cfg *election.Config) { cfg.LateThreshold, cfg.Takeover = time.Second, c.takeover }
				first, stopFirst := b.run("a", election.Role{Lead: untilTold}, change, func(cfg *election.Config) {
					if cfg.Mint = slow; c.denied {
						cfg.Mint = denying{Mint: slow, now: &ill}
					}
				})
				b.leads(first, time.Second)
				second, stopSecond := b.run("b", election.Role{Lead: untilTold}, change)
				pass(time.Second)
				ill.Store(true)
				if c.within != 0 {
					b.leads(second, c.within)
					if f, ok := b.told("a", election.Draining); !ok || !errors.Is(f.Err, election.ErrOverdue) {
						t.Errorf("the scope was given up with %v, want ErrOverdue", f.Err)
					}
				} else if pass(time.Minute); second.Gate("s").IsOpen(fence.Fenced) {
					t.Error("another elector took the scope under Keep")
				}
				ill.Store(false)
				b.ends(stopFirst)
				b.ends(stopSecond)
			})
		})
	}
}
