package transactions

import (
	"context"

	"github.com/conchhq/conch/pending"
)

// countAlarm counts the raised alarms of an account that this node leads.
func (reg *accounts) countAlarm(id accountID, alarm pending.Alarm) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if reg.raised[id] == nil {
		reg.raised[id] = map[pending.Cause]int{}
	}
	if alarm.Raised {
		reg.raised[id][alarm.Cause]++
	} else {
		reg.raised[id][alarm.Cause]--
	}
}

// alarms returns the number of raised alarms by account and cause, 0 included.
func (reg *accounts) alarms() (all []raised) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	for _, a := range reg.configured {
		for cause := range meaning {
			all = append(all, raised{Account: a.Name, Cause: cause.String(), N: reg.raised[a.id()][cause]})
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
func (reg *accounts) backlogs(ctx context.Context) (all []backlog) {
	for _, b := range reg.chainStores() {
		counts, err := b.Counts(ctx)
		if err != nil {
			continue
		}
		fresh := map[accountID]map[string]int{}
		for _, c := range counts {
			id := accountID{b.id, c.Account}
			if fresh[id] == nil {
				fresh[id] = map[string]int{}
			}
			fresh[id][c.State] = c.N
		}
		reg.mu.Lock()
		for _, a := range reg.configured {
			if a.Chain.ID() == b.id {
				reg.counted[a.id()] = fresh[a.id()]
			}
		}
		reg.mu.Unlock()
	}
	reg.mu.Lock()
	defer reg.mu.Unlock()
	for _, a := range reg.configured {
		for _, state := range underWay {
			all = append(all, backlog{Account: a.Name, State: state, N: reg.counted[a.id()][state]})
		}
	}
	return all
}
