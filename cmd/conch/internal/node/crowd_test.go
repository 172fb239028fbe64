package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// crowded is a number of scopes at which quadratic work shows.
const crowded = 1000

// host is a fake elector that leads all its scopes. It counts the scopes it was asked about.
type host struct {
	gates  map[string]*fence.Gate
	looked atomic.Int64
}

func (h *host) Status(scope string) (election.Status, bool) {
	h.looked.Add(1)
	return election.Status{Scope: scope, Leading: true}, h.gates[scope] != nil
}

func (h *host) Snapshot() []election.Status {
	h.looked.Add(int64(len(h.gates)))
	all := make([]election.Status, 0, len(h.gates))
	for scope := range h.gates {
		all = append(all, election.Status{Scope: scope, Leading: true})
	}
	return all
}

func (*host) Run(ctx context.Context) error { <-ctx.Done(); return nil }

func (h *host) Add(r election.Role) error {
	h.gates[r.Scope] = fence.Standalone(r.Scope, "n1")
	return nil
}

func (*host) Retire(string) (<-chan struct{}, error) { return nil, errors.New("no role") }

func (*host) Rest(string, time.Duration) {}

func (*host) StepDown(context.Context, election.StepDown) error { return nil }

func (h *host) Gate(scope string) *fence.Gate { return h.gates[scope] }

// crowd returns a set of one group with that many roles.
func crowd(t *testing.T) (*electorSet, *host) {
	t.Helper()
	h := &host{gates: map[string]*fence.Gate{}}
	lasting := context.WithoutCancel(t.Context())
	r := &electorSet{
		newElector: func(config.Config, []config.Role) (elector, error) { return h, nil },
		work:       func(config.Role, func(error)) (Work, func(context.Context)) { return nil, nil },
		over:       lasting, electorsOver: lasting,
	}
	t.Cleanup(func() {
		if err := r.end(lasting, nil); err != nil {
			t.Error(err)
		}
	})
	var roles []config.Role
	for i := range crowded {
		roles = append(roles, config.Role{Scope: fmt.Sprintf("s%04d", i)})
	}
	if err := r.assign(config.Config{Sections: given(roles...)}); err != nil {
		t.Fatal(err)
	}
	h.looked.Store(0)
	return r, h
}

// A probe or a scrape asks for the gate of every scope, and finds each without a walk through
// all scopes.
func TestAGateIsFoundWithoutAWalk(t *testing.T) {
	t.Parallel()
	r, h := crowd(t)
	for _, scope := range r.Scopes() {
		if g := r.Gate(scope); g == nil || g.Scope() != scope {
			t.Errorf("%s has the gate %v, want its own", scope, g)
		}
	}
	if n := h.looked.Load(); n > crowded {
		t.Errorf("to find %d gates it looked at %d scopes, want one look per gate", crowded, n)
	}
}

// Terms that begin together, as in a takeover, share one look at all scopes. A term that
// begins later gets another.
func TestTermsThatBeginTogetherAreOneLook(t *testing.T) {
	t.Parallel()
	r, h := crowd(t)
	n := &Node{electors: r, log: slog.New(slog.DiscardHandler)}
	began := func(scopes ...string) int64 {
		h.looked.Store(0)
		r.mu.Lock() // no look before all terms have begun
		for _, scope := range scopes {
			n.reconcile(election.Fact{Kind: election.Acquired, Scope: scope})
		}
		r.mu.Unlock()
		n.calls.Wait()
		return h.looked.Load()
	}
	if looked := began(r.Scopes()...); looked != crowded {
		t.Errorf("%d terms began, and it looked at %d scopes, want each once", crowded, looked)
	}
	if looked := began("s0007"); looked != crowded {
		t.Errorf("one more term began, and it looked at %d scopes, want each once", looked)
	}
}

// A look may miss what happens during it, so another look follows.
func TestALookThatHasBegunIsNoPromise(t *testing.T) {
	t.Parallel()
	r := &electorSet{want: map[string]config.Role{"a": {Scope: "a"}}}
	again := false
	r.newElector = func(config.Config, []config.Role) (elector, error) {
		again = r.queue()
		return nil, errors.New("no room")
	}
	if !r.queue() || r.queue() {
		t.Error("two events before a look: want one call of termsChanged for both")
	}
	if err := r.termsChanged(); err == nil || !again {
		t.Errorf("got error %v, and another look for an event during the first: %t; want an error and true", err, again)
	}
}
