package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/internal/pause"
)

// contacts is by how many members all join, as in conch's own run.
const contacts = 3

// member is one node of a group.
type member interface {
	// join asks contacts for the others.
	join(contacts []string) error
	// address is where others join by it.
	address() string
	close()
}

// group is the members of this process.
type group struct {
	*roll

	cfg     config
	sent    counter
	members []member
}

// found starts so many members at once, and says when all know of each other.
func found(ctx context.Context, cfg config, many int, start func(g *group, i int) (member, error)) (*group, error) {
	g := &group{roll: newRoll(many), cfg: cfg}
	began := time.Now()
	for i := range many {
		m, err := start(g, i)
		if err != nil {
			return g, fmt.Errorf("starting member %d: %w", i, err)
		}
		g.members = append(g.members, m)
	}
	faults := make([]error, many)
	var all sync.WaitGroup
	for i, m := range g.members[1:] {
		all.Go(func() { faults[i] = m.join(g.contacts()) })
	}
	all.Wait()
	if err := errors.Join(faults...); err != nil {
		return g, err
	}
	if err := g.await(ctx, patience, "all know of each other", func() bool { return g.all(many) }); err != nil {
		return g, err
	}
	cfg.say(line{Kind: cold, Took: []float64{ms(time.Since(began))}})
	return g, nil
}

func (g *group) contacts() (all []string) {
	for _, m := range g.members[:min(contacts, len(g.members))] {
		all = append(all, m.address())
	}
	return all
}

func (g *group) close() {
	var all sync.WaitGroup
	for _, m := range g.members {
		all.Go(m.close)
	}
	all.Wait()
}

// rest counts what all send while nothing happens.
func (g *group) rest(ctx context.Context) error {
	if g.cfg.rest == 0 {
		return nil
	}
	if err := pause.For(ctx, g.cfg.settle); err != nil {
		return err
	}
	g.cfg.say(line{Kind: resting})
	messages, bytes, began := g.sent.messages.Load(), g.sent.bytes.Load(), time.Now()
	if err := pause.For(ctx, g.cfg.rest); err != nil {
		return err
	}
	g.cfg.say(line{
		Kind: rested, Messages: g.sent.messages.Load() - messages, Bytes: g.sent.bytes.Load() - bytes, Seconds: time.Since(began).Seconds(),
	})
	return nil
}
