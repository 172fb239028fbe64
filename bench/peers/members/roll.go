package main

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/internal/fleet"
)

// patience bounds each wait.
const patience = 3 * time.Minute

// roll is what the members of this process know, as their libraries tell it.
type roll struct {
	mu    fleet.Heard
	known []map[string]bool    // by member: who it takes for alive, itself included
	lost  map[string][]instant // by name: when members have learned that it is gone
	heard map[string][]instant // by event: when members have heard it
}

type instant struct {
	by int
	at time.Time
}

func newRoll(members int) *roll {
	r := &roll{lost: map[string][]instant{}, heard: map[string][]instant{}}
	for range members {
		r.known = append(r.known, map[string]bool{})
	}
	return r
}

func (r *roll) joined(by int, name string) {
	r.mu.Tell(func() { r.known[by][name] = true })
}

func (r *roll) left(by int, name string) {
	at := time.Now()
	r.mu.Tell(func() {
		delete(r.known[by], name)
		r.lost[name] = append(r.lost[name], instant{by, at})
	})
}

func (r *roll) hears(by int, event string) {
	at := time.Now()
	r.mu.Tell(func() { r.heard[event] = append(r.heard[event], instant{by, at}) })
}

// all reports whether every member knows so many. The lock is held.
func (r *roll) all(many int) bool {
	for _, known := range r.known {
		if len(known) != many {
			return false
		}
	}
	return true
}

// await waits until something is so, which is looked at under the lock after each change.
func (r *roll) await(ctx context.Context, most time.Duration, what string, done func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("it has not come in %s", most))
	defer cancel()
	if err := r.mu.Await(ctx, done); err != nil {
		return fmt.Errorf("waiting until %s: %w", what, err)
	}
	return nil
}
