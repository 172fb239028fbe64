package transactions

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/pending"
)

// counts counts the transactions and the alarms of accounts, for the metrics. It is safe for concurrent use.
type counts struct {
	accounts *accounts

	mu     sync.Mutex
	last   map[accountID]map[string]int // transactions by state, as last read; what is in it never changes
	raised map[accountID][]raisedAlarm
}

// raisedAlarm is an alarm of an account that this node leads.
type raisedAlarm struct {
	pending.Alarm

	since time.Time
}

// about has what tells an alarm from others: while it is raised, another Why is not reported.
func about(a pending.Alarm) pending.Alarm {
	return pending.Alarm{Cause: a.Cause, Whole: a.Whole, Index: a.Index, Intent: a.Intent}
}

func newCounts(of *accounts) *counts {
	return &counts{accounts: of, last: map[accountID]map[string]int{}, raised: map[accountID][]raisedAlarm{}}
}

// alarm notes the raised alarms of an account that this node leads, in the order in which they were raised.
func (c *counts) alarm(id accountID, alarm pending.Alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raised[id] = slices.DeleteFunc(slices.Clone(c.raised[id]), func(r raisedAlarm) bool { return about(r.Alarm) == about(alarm) })
	if alarm.Raised {
		c.raised[id] = append(c.raised[id], raisedAlarm{alarm, time.Now()})
	}
}

// forget drops the alarms of an account that this node no longer leads: the next leader raises them again.
func (c *counts) forget(id accountID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.raised, id)
}

// alarmsOf returns the raised alarms of an account. On a node that does not lead it there are none.
func (c *counts) alarmsOf(id accountID) []raisedAlarm {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raised[id]
}

// alarms returns the number of raised alarms by account and cause, 0 included.
func (c *counts) alarms() (all []raised) {
	for _, a := range c.accounts.all() {
		n := map[pending.Cause]int{}
		for _, r := range c.alarmsOf(a.id()) {
			n[r.Cause]++
		}
		for cause := range meaning {
			all = append(all, raised{Account: a.Name, Cause: cause.String(), N: n[cause]})
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
	_ = c.look(ctx)
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

// look counts again. What could not be counted stays as it was.
func (c *counts) look(ctx context.Context) (err error) {
	for _, b := range c.accounts.chainStores() {
		found, failed := b.Counts(ctx)
		if failed == nil {
			c.note(b.id, found)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// counted returns the numbers that were last read, of accounts that have any transactions under way.
func (c *counts) counted() map[accountID]map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	some := maps.Clone(c.last)
	maps.DeleteFunc(some, func(_ accountID, of map[string]int) bool { return len(of) == 0 })
	return some
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
