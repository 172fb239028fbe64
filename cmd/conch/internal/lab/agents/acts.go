//go:build unix

package agents

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
)

// Kill kills the leader with SIGKILL, and returns how long it took until all others named another one. Then it starts it
// again, and waits until it agrees.
func (c *Crowd) Kill(ctx context.Context) (time.Duration, error) {
	leader, _, err := c.agree(ctx, c.shape.Nodes)
	if err != nil {
		return 0, err
	}
	victim := c.children[leader]
	if victim == nil {
		return 0, fmt.Errorf("%s leads, and is no elector", leader)
	}
	at := c.strike(leader, victim)
	_, since, err := c.agree(ctx, c.shape.Nodes-1)
	if err != nil {
		return 0, err
	}
	<-victim.Over()
	if err := c.launch(leader); err != nil {
		return 0, err
	}
	_, _, err = c.agree(ctx, c.shape.Nodes)
	return since.Sub(at), err
}

// strike kills an agent. What it has said before and was not read yet does not count.
func (c *Crowd) strike(name string, victim *child) fence.Instant {
	c.views.ends(name)
	return victim.kill()
}

// Publish has one of the agents publish a piece of news. It returns how long each other one took to hear it, and how many
// have not heard it.
func (c *Crowd) Publish(ctx context.Context, i int) (took []time.Duration, missed int, err error) {
	by, topic := rand.IntN(len(c.agents)), fmt.Sprint("news-", i) //nolint:gosec // which one does not matter
	began := fence.Boottime()
	if err := c.agents[by].agent.Publish(namespace, topic, []byte(topic)); err != nil {
		return nil, 0, err
	}
	others := c.shape.Nodes - 1
	err = c.views.await(ctx, heardWithin, "all have heard it", func() bool { return len(c.views.news[topic]) >= others })
	if ctx.Err() != nil {
		return nil, 0, err
	}
	c.views.Lock()
	defer c.views.Unlock()
	for _, at := range c.views.news[topic] {
		took = append(took, at.Sub(began))
	}
	return took, others - len(took), nil
}

// heardWithin is how long a piece of news is waited for.
const heardWithin = 15 * time.Second

// Sent is what agents have sent since they began.
type Sent struct {
	Messages, Bytes uint64 // of all
	ByElectors      uint64 // bytes of those that may lead
}

// Sent adds up what all agents have sent.
func (c *Crowd) Sent(ctx context.Context) (all Sent, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
	defer cancel()
	for _, name := range slices.Sorted(maps.Keys(c.children)) {
		w, err := c.children[name].counts(ctx)
		if err != nil {
			return all, fmt.Errorf("%s: %w", name, err)
		}
		all.Messages, all.Bytes, all.ByElectors = all.Messages+w.Messages, all.Bytes+w.Bytes, all.ByElectors+w.Bytes
	}
	for _, o := range c.agents {
		w := o.count()
		all.Messages, all.Bytes = all.Messages+w.Messages, all.Bytes+w.Bytes
	}
	return all, nil
}

// PIDs returns the processes of the agents, this one among them.
func (c *Crowd) PIDs() []int {
	pids := []int{os.Getpid()}
	for _, one := range c.children {
		pids = append(pids, one.PID())
	}
	return pids
}

// Graph returns who is connected with whom: by agent those neighbours that come after it.
func (c *Crowd) Graph() [][]int {
	number := map[string]int{}
	for i, name := range c.names {
		number[name] = i
	}
	for i, e := range c.electors {
		number[e.Name] = len(c.names) + i
	}
	linked := map[[2]int]bool{}
	link := func(a, b int) { linked[[2]int{min(a, b), max(a, b)}] = true }
	for i, o := range c.agents {
		for _, n := range o.agent.Status().Neighbours {
			if j, is := number[n.Name]; is && i != j {
				link(i, j)
			}
		}
	}
	for i := len(c.names); i < len(number); i++ { // electors are all connected with each other
		for j := i + 1; j < len(number); j++ {
			link(i, j)
		}
	}
	graph := make([][]int, len(number))
	for edge := range linked {
		graph[edge[0]] = append(graph[edge[0]], edge[1])
	}
	return graph
}
