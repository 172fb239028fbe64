//go:build unix

package bench

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/agents"
	"github.com/conchhq/conch/cmd/conch/internal/lab/members"
	"github.com/conchhq/conch/internal/pause"
)

// What gossip was asked to be.
const (
	askedOfMemberlist = 0.15 // of the time after which all members of memberlist know of a crash
	askedRounds       = 12   // until a leader that was killed is replaced in every view: the validity of a heartbeat, and four
	askedAtRest       = 5000 // bytes a second for each of 5,000 nodes
)

// gossiped measures a crowd of agents, beside as many members of memberlist and of serf, in turn with it.
func gossiped(ctx context.Context, cfg Config) (r Report, err error) {
	a := cfg.amounts()
	var ours, listed, served found
	var flooded []time.Duration
	if cfg.Members == "" {
		cfg.Say("gossip: %s is neither beside this program nor on the PATH, so that there is nothing beside conch's own figures: %s, or name it by %s",
			members.Name, members.Build, members.EnvProgram)
	}
	for i := range a.crowds {
		for half := range 2 {
			if half == i%2 { // ABBA
				err = besideAll(ctx, cfg, &listed, &served)
			} else {
				err = crowdOf(ctx, cfg, &ours, &flooded)
			}
			if err != nil {
				return r, err
			}
		}
	}
	reportCrowd(&r, a, ours, listed, served, flooded)
	if err := simulatedRounds(ctx, cfg, &r); err != nil {
		return r, err
	}
	return r, thousands(ctx, cfg, &r)
}

// found is what was measured of one library, over all runs.
type found struct {
	cold, crashes, news []time.Duration
	missed              int // pieces of news that a node has not heard
	rest                atEase
}

// atEase is what a node sends, or takes of a processor, in a second while nothing happens, by runs.
type atEase struct{ bytes, messages, wire, processor, electors []float64 }

// crowdOf measures agents of conch once, and the ceiling of their news.
func crowdOf(ctx context.Context, cfg Config, t *found, flooded *[]time.Duration) (err error) {
	a := cfg.amounts()
	cfg.Say("gossip: %d agents, of which %d may lead, each of these in a process of its own …", a.crowd, a.electors)
	dir, err := os.MkdirTemp("", "conch-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := agents.Open(ctx, agents.Shape{Program: cfg.Program, Command: AgentCommand, Dir: dir, Nodes: a.crowd, Electors: a.electors})
	defer func() { err = errors.Join(err, c.Close()) }()
	if err != nil {
		return err
	}
	t.cold = append(t.cold, c.Cold)
	for _, part := range []func() error{
		func() error { return restOf(ctx, cfg, c, t) },
		func() error { return killsOf(ctx, cfg, c, t) },
		func() error { return newsOf(ctx, cfg, c, t) },
		func() error { return floodOf(ctx, cfg, c, flooded) },
	} {
		if err := part(); err != nil {
			return err
		}
	}
	return c.Faults()
}

func killsOf(ctx context.Context, cfg Config, c *agents.Crowd, t *found) error {
	many := cfg.amounts().crashes
	for i := range many {
		if err := pause.For(ctx, time.Second+phase(time.Second, i)); err != nil { // the leader is heard by all each second
			return err
		}
		took, err := c.Kill(ctx)
		if err != nil {
			return err
		}
		t.crashes = append(t.crashes, took)
	}
	cfg.Say("gossip: %d leaders killed, p50 %.0f ms until all name another one", many, ms(quantile(t.crashes, 0.5)))
	return nil
}

func newsOf(ctx context.Context, cfg Config, c *agents.Crowd, t *found) error {
	many := cfg.amounts().news
	for i := range many {
		if err := pause.For(ctx, 200*time.Millisecond+phase(200*time.Millisecond, i)); err != nil {
			return err
		}
		took, missed, err := c.Publish(ctx, i)
		if err != nil {
			return err
		}
		t.news, t.missed = append(t.news, took...), t.missed+missed
	}
	cfg.Say("gossip: %d pieces of news, p50 %.1f ms until a node has heard it", many, ms(quantile(t.news, 0.5)))
	return nil
}

// floodOf measures the ceiling of news on the graph that the agents have made.
func floodOf(ctx context.Context, cfg Config, c *agents.Crowd, flooded *[]time.Duration) error {
	f, err := openFlood(ctx, c.Graph())
	defer f.close()
	if err != nil {
		return err
	}
	for i := range cfg.amounts().news {
		if err := pause.For(ctx, phase(20*time.Millisecond, i)); err != nil {
			return err
		}
		took, err := f.send(ctx, i%len(f.links))
		if err != nil {
			return err
		}
		*flooded = append(*flooded, took...)
	}
	return nil
}

// restOf measures what an agent sends while nothing happens.
func restOf(ctx context.Context, cfg Config, c *agents.Crowd, t *found) error {
	a := cfg.amounts()
	if err := pause.For(ctx, a.settle); err != nil {
		return err
	}
	before, err := c.Sent(ctx)
	if err != nil {
		return err
	}
	m := startMeter(c.PIDs()...)
	if err := pause.For(ctx, a.ease); err != nil {
		return err
	}
	spent := m.stop()
	after, err := c.Sent(ctx)
	if err != nil {
		return err
	}
	t.rest.add(a.crowd, spent, float64(after.Messages-before.Messages), float64(after.Bytes-before.Bytes))
	t.rest.electors = append(t.rest.electors, float64(after.ByElectors-before.ByElectors)/float64(a.electors)/spent.took.Seconds())
	return nil
}
