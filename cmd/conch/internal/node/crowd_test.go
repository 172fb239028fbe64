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

// crowded is many: work for each of them that grows with them shows.
const crowded = 1000

// host is an elector that leads all its scopes, made up. It counts how many it was asked
// about.
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

func (*host) Add(election.Role) error { return errors.New("no room") }

func (*host) Retire(string) (<-chan struct{}, error) { return nil, errors.New("no role") }

func (*host) Rest(string, time.Duration) {}

func (*host) StepDown(context.Context, election.StepDown) error { return nil }

func (h *host) Gate(scope string) *fence.Gate { return h.gates[scope] }

// crowd is a roster of one crew with that many roles.
func crowd(t *testing.T) (*roster, *host) {
	t.Helper()
	h := &host{gates: map[string]*fence.Gate{}}
	r := &roster{found: func(_ config.Config, roles []config.Role) (*crew, error) {
		c := newCrew(roles...)
		c.elector = h
		for _, role := range roles {
			h.gates[role.Scope] = fence.Standalone(role.Scope, "n1")
		}
		var ctx context.Context
		ctx, c.stop = context.WithCancel(context.WithoutCancel(t.Context()))
		c.run = func() error { <-ctx.Done(); return nil }
		return c, nil
	}}
	t.Cleanup(func() {
		if err := r.end(context.WithoutCancel(t.Context())); err != nil {
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

// A probe and a scrape ask for the gate of every scope: each is looked up, none is found
// by a walk through all.
func TestAGateIsFoundWithoutAWalk(t *testing.T) {
	t.Parallel()
	r, h := crowd(t)
	for _, scope := range r.Scopes() {
		if g := r.Gate(scope); g == nil || g.Scope() != scope {
			t.Errorf("%s has the gate %v", scope, g)
		}
	}
	if n := h.looked.Load(); n > crowded {
		t.Errorf("for %d gates it looked at %d scopes", crowded, n)
	}
}

// Terms that begin together, as they do in a takeover, are looked at together, and one
// that begins later is looked at again.
func TestTermsThatBeginTogetherAreOneLook(t *testing.T) {
	t.Parallel()
	r, h := crowd(t)
	n := &Node{staff: r, log: slog.New(slog.DiscardHandler)}
	began := func(scopes ...string) int64 {
		h.looked.Store(0)
		r.mu.Lock() // all have begun before anybody gets to look
		for _, scope := range scopes {
			n.moved(election.Fact{Kind: election.Acquired, Scope: scope})
		}
		r.mu.Unlock()
		n.calls.Wait()
		return h.looked.Load()
	}
	if looked := began(r.Scopes()...); looked != crowded {
		t.Errorf("%d terms began, and it looked at %d scopes", crowded, looked)
	}
	if looked := began("s0007"); looked != crowded {
		t.Errorf("one more term began, and it looked at %d scopes", looked)
	}
}

// What happens while somebody looks may be missed by that look, and gets one of its own.
func TestALookThatHasBegunIsNoPromise(t *testing.T) {
	t.Parallel()
	r := &roster{want: map[string]config.Role{"a": {Scope: "a"}}}
	again := false
	r.found = func(config.Config, []config.Role) (*crew, error) {
		again = r.due()
		return nil, errors.New("no room")
	}
	if !r.due() || r.due() {
		t.Error("one look is enough for what has happened before it")
	}
	if err := r.moved(); err == nil || !again {
		t.Errorf("%v; what happened meanwhile gets a look: %t", err, again)
	}
}
