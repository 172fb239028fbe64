package transactions

import (
	"context"
	"sync"

	"github.com/conchhq/conch/pending"
)

// counts counts the transactions and the alarms of accounts, for the metrics. It is safe for concurrent use.
type counts struct {
	accounts *accounts

	mu     sync.Mutex
	last   map[accountID]map[string]int // transactions by state, as last read
	raised map[accountID]map[pending.Cause]int
}

func newCounts(of *accounts) *counts {
	return &counts{accounts: of, last: map[accountID]map[string]int{}, raised: map[accountID]map[pending.Cause]int{}}
}

// alarm counts the raised alarms of an account that this node leads.
func (c *counts) alarm(id accountID, alarm pending.Alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raised[id] == nil {
		c.raised[id] = map[pending.Cause]int{}
	}
	if alarm.Raised {
		c.raised[id][alarm.Cause]++
	} else {
		c.raised[id][alarm.Cause]--
	}
}

// forget drops the alarms of an account that this node no longer leads: the next leader raises them again.
func (c *counts) forget(id accountID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.raised, id)
}

// alarms returns the number of raised alarms by account and cause, 0 included.
func (c *counts) alarms() (all []raised) {
	accounts := c.accounts.all()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range accounts {
		for cause := range meaning {
			all = append(all, raised{Account: a.Name, Cause: cause.String(), N: c.raised[a.id()][cause]})
		}
	}
	return all
}

// underWay are the states in the metric.
var underWay = []string{
	pending.Queued, pending.Future.String(), pending.Ready.String(), pending.Broadcast.String(),
	pending.InBlock.String(), pending.Retracted.String(), pending.FinalityTimeout.String(),
}

// backlogs counts transactions by account and state. If the database does not answer, it
// returns the last numbers, since 0 would be false.
func (c *counts) backlogs(ctx context.Context) (all []backlog) {
	for _, b := range c.accounts.chainStores() {
		if found, err := b.Counts(ctx); err == nil {
			c.note(b.id, found)
		}
	}
	accounts := c.accounts.all()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range accounts {
		for _, state := range underWay {
			all = append(all, backlog{Account: a.Name, State: state, N: c.last[a.id()][state]})
		}
	}
	return all
}

// note replaces the numbers of a chain's accounts. What is not among those found is 0.
func (c *counts) note(chain string, found []pending.Count) {
	fresh := map[accountID]map[string]int{}
	for _, one := range found {
		id := accountID{chain, one.Account}
		if fresh[id] == nil {
			fresh[id] = map[string]int{}
		}
		fresh[id][one.State] = one.N
	}
	accounts := c.accounts.all()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range accounts {
		if a.Chain.ID() == chain {
			c.last[a.id()] = fresh[a.id()]
		}
	}
}
