package metric

import (
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/conchhq/conch/fence"
)

// reading is what all scopes had at one instant.
type reading struct {
	made    *dto.Counter
	counted []counted
	scopes  []measured
}

type counted struct {
	scope string
	tally
}

type measured struct {
	scope string
	now   [gauges]float64
}

// read measures. It keeps the electors waiting for no longer than a copy takes.
func (c *Collector) read() *reading {
	r := &reading{made: c.made}
	c.mu.Lock()
	states := make([]state, len(c.order))
	r.scopes = make([]measured, len(c.order))
	if c.all != nil && len(c.order) > 0 {
		r.counted = []counted{{"", *c.all}}
	}
	for i, name := range c.order {
		r.scopes[i].scope, states[i] = name, *c.scopes[name]
		if c.all == nil {
			r.counted = append(r.counted, counted{name, *states[i].tally})
		}
	}
	c.mu.Unlock()
	for i, s := range states {
		r.scopes[i].now = s.gauges(c.open(r.scopes[i].scope), c.clock())
	}
	return r
}

func (s *state) gauges(open float64, now fence.Instant) (all [gauges]float64) {
	all[isLeader] = open
	if s.leads {
		all[epoch], all[tenure] = float64(s.epoch), max(0, now.Sub(s.since).Seconds())
	}
	if s.anyBeats {
		all[age] = ms(max(time.Duration(0), now.Sub(s.beaten)))
	}
	if s.unled {
		all[unled] = max(0, now.Sub(s.unledAt).Seconds())
	}
	return all
}

// open asks the gate itself: a flag kept here would stay true in a process that hangs.
func (c *Collector) open(name string) float64 {
	if g := c.gate(name); g != nil && g.IsOpen(fence.Act) {
		return 1
	}
	return 0
}
