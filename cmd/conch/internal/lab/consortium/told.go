//go:build unix

package consortium

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/internal/pause"
)

func (c *customers) looks(ctx context.Context) {
	for ctx.Err() == nil {
		if s, err := c.of.api.status(ctx, c.contract); err == nil {
			c.mu.Lock()
			c.status, c.heard = s, time.Now()
			c.mu.Unlock()
		}
		if found, err := c.of.api.list(ctx, c.contract, true); err == nil {
			c.take(ctx, found)
		}
		_ = pause.For(ctx, lookEvery)
	}
}

// take remembers the first end that was told of each transaction, and cancels those that are regretted.
func (c *customers) take(ctx context.Context, found []transaction) {
	var regretted []string
	c.mu.Lock()
	c.fates = map[string]int{}
	for _, t := range found {
		c.fates[t.Fate]++
		switch {
		case t.Fate == openFate && c.regrets[t.Key]:
			regretted = append(regretted, t.ID)
		case t.Fate != openFate && c.first[t.ID].fate == "":
			c.first[t.ID] = end{t.Fate, time.Now()}
		}
	}
	c.mu.Unlock()
	for _, id := range regretted {
		// It is asked again at the next look, until the transaction has ended: an answer is not needed.
		_ = c.of.api.Ask(ctx, http.MethodPost, "/v1/contracts/"+c.contract+"/transactions/"+id+"/cancel", nil, new(struct{}))
	}
}

// settled reports whether every request is answered, and has ended by the node's word.
func (c *customers) settled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.requests {
		if !c.over(q) {
			return false
		}
	}
	return c.fates[openFate] == 0 && c.again == 0
}

// seen is what is known of a node and its transactions.
type seen struct {
	status
	heard                     time.Time
	asked                     int
	open, confirmed, reverted int
	refused                   error
}

func (c *customers) seen() seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return seen{c.status, c.heard, len(c.requests), c.fates[openFate], c.fates["confirmed"], c.fates["reverted"], c.refused}
}

// asksAgain asks anew for what the node has acknowledged since an instant, when its database was put back to what it was
// then: who restores a database has to compare.
func (c *customers) asksAgain(ctx context.Context, since time.Time) {
	c.mu.Lock()
	var again []int
	for i, q := range c.requests {
		if len(q.Acks) > 0 && !q.Acks[len(q.Acks)-1].At.Before(since) {
			again = append(again, i)
		}
	}
	c.again += len(again)
	c.mu.Unlock()
	c.working.Go(func() {
		for _, at := range again {
			c.askFor(ctx, at)
			c.mu.Lock()
			c.again--
			c.mu.Unlock()
		}
	})
}

// asked returns what was asked for, with the first end that was told of each ID.
func (c *customers) asked() []auditor.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.requests)
	for i, q := range all {
		all[i].Acks, all[i].Asked = slices.Clone(q.Acks), slices.Clone(q.Asked)
		for k, a := range all[i].Acks {
			all[i].Acks[k].First, all[i].Acks[k].FirstAt = c.first[a.ID].fate, c.first[a.ID].at
		}
	}
	return all
}

// told returns every transaction as its node lists it now.
func (c *customers) told(ctx context.Context) (all []auditor.Told, err error) {
	found, err := c.of.api.list(ctx, c.contract, true)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range found {
		one := auditor.Told{Owner: c.of.account, ID: t.ID, Key: t.Key, Payload: string(t.Request), Fate: t.Fate, First: c.first[t.ID].fate, FirstAt: c.first[t.ID].at}
		if t.Attempt != nil {
			one.Attempt = *t.Attempt
		}
		if t.Block != nil {
			one.Block = *t.Block
		}
		all = append(all, one)
	}
	return all, nil
}
