package standin

import (
	"context"
	"fmt"
	"time"
)

// Couple is a node and one stand-in that endorses beside it. Both have to.
type Couple struct {
	*Site

	node   *Node
	purses []string
}

// blockTime is short, so that few users are enough to keep the node busy.
const blockTime = 20 * time.Millisecond

// Pair opens a site with a node, which coordinates and owns all intents, and a stand-in. Each purse is a user's.
func Pair(ctx context.Context, s Scheme, delay time.Duration, purses []string, stepped func(string, time.Duration)) (*Couple, error) {
	c := &Couple{purses: purses, Site: Open(ctx, Config{
		Scheme: s, Members: []string{"node", "peer"}, Committee: []string{"node"}, Needed: 2, Block: blockTime,
	})}
	var err error
	if c.node, err = c.Node("node", Options{Stepped: stepped}); err == nil {
		err = c.Peer("peer", delay)
	}
	if err == nil {
		err = c.Issue(ctx, c.node, purses)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Run has every user pay for a time.
func (c *Couple) Run(ctx context.Context, name string, long time.Duration) (payments int, took time.Duration, err error) {
	payments, took, err = (&Users{Node: c.node, Name: name, Purses: c.purses}).Run(ctx, long)
	if n := c.Ledger.Skipped(); err == nil && n > 0 {
		err = fmt.Errorf("the ledger has skipped %d entries", n)
	}
	return payments, took, err
}
