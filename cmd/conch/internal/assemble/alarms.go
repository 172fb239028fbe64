package assemble

import (
	"github.com/conchhq/conch/cmd/conch/internal/metric"
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
func (d *desk) alarms() (all []metric.Raised) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.accounts {
		for cause := range meaning {
			all = append(all, metric.Raised{Account: a.Name, Cause: cause.String(), N: d.raised[seatOf(a)][cause]})
		}
	}
	return all
}
