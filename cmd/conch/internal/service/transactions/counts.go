package transactions

import (
	"context"

	"github.com/conchhq/conch/pending"
)

// heed counts the alarms that hold about an account that is led here.
func (d *desk) heed(s seat, alarm pending.Alarm) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.raised[s] == nil {
		d.raised[s] = map[pending.Cause]int{}
	}
	if alarm.Raised {
		d.raised[s][alarm.Cause]++
	} else {
		d.raised[s][alarm.Cause]--
	}
}

// alarms are those that hold, with 0 for every other that could.
func (d *desk) alarms() (all []raised) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.accounts {
		for cause := range meaning {
			all = append(all, raised{Account: a.Name, Cause: cause.String(), N: d.raised[seatOf(a)][cause]})
		}
	}
	return all
}

// underWay are the states that the metric counts.
var underWay = []string{
	pending.Queued, pending.Future.String(), pending.Ready.String(), pending.Broadcast.String(),
	pending.InBlock.String(), pending.Retracted.String(), pending.FinalityTimeout.String(),
}

// backlogs counts what is under way. A database that cannot be asked leaves the
// numbers as they were last: 0 would say that nothing is.
func (d *desk) backlogs(ctx context.Context) (all []backlog) {
	for _, b := range d.books() {
		counts, err := b.Counts(ctx)
		if err != nil {
			continue
		}
		fresh := map[seat]map[string]int{}
		for _, c := range counts {
			s := seat{b.id, c.Account}
			if fresh[s] == nil {
				fresh[s] = map[string]int{}
			}
			fresh[s][c.State] = c.N
		}
		d.mu.Lock()
		for _, a := range d.accounts {
			if a.Chain.ID() == b.id {
				d.counted[seatOf(a)] = fresh[seatOf(a)]
			}
		}
		d.mu.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.accounts {
		for _, state := range underWay {
			all = append(all, backlog{Account: a.Name, State: state, N: d.counted[seatOf(a)][state]})
		}
	}
	return all
}
