package metric

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/fence"
)

// Prefix begins the name of every metric.
const Prefix = "conch_"

// milliseconds are buckets, from a round trip on a local socket to a lease that ran out.
var milliseconds = []float64{0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000}

func gauge(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(Prefix+name, help, []string{"scope"}, nil)
}

var (
	isLeader = gauge("is_leader", "1 while this process may act for the scope, by its gate's own clock.")
	epoch    = gauge("leader_epoch", "The epoch that this process leads the scope in, 0 while it does not.")
	age      = gauge("heartbeat_age_ms", "Since the leader's last good heartbeat was sent, as far as this process knows.")
	unled    = gauge("leaderless_seconds", "For how long nobody leads a scope that this process wants, once that is three leases; 0 if somebody does, or it cannot know.")
	tenure   = gauge("leader_tenure_seconds", "How long this process has held its leadership of the scope, 0 while it holds none.")
)

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: Prefix + name, Help: help}, append([]string{"scope"}, labels...))
}

func histogram(name, help string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: Prefix + name, Help: help, Buckets: milliseconds,
	}, []string{"scope"})
}

func (c *Collector) make() {
	c.acquired = counter("leader_acquired_total", "Times this process was made the leader of the scope.")
	c.lost = counter("leadership_lost_total", "Leaderships of this process that ended, by why.", "reason")
	c.attempts = counter("acquire_attempts_total", "Bids of this process for the scope.")
	c.blocked = counter("extrinsic_blocked_not_leader_total", "Transmissions refused because this process was not the leader.")
	c.begun = counter("leader_elections_total", "Epochs that began with this process.")
	c.failovers = counter("leader_failovers_total", "Epochs that began with this process without a release of the one before.")
	c.failed = counter("role_failures_total", "Failures of the scope's role in this process, each of which gave the scope up.", "reason")
	c.acquire = histogram("acquire_latency_ms", "From the first bid that found no other holder to the token.")
	c.beat = histogram("heartbeat_update_ms", "Round trips of heartbeats that succeeded.")
}

func (c *Collector) told() []prometheus.Collector {
	return []prometheus.Collector{c.acquired, c.lost, c.attempts, c.blocked, c.begun, c.failovers, c.failed, c.acquire, c.beat}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range c.told() {
		m.Describe(to)
	}
	for _, d := range []*prometheus.Desc{isLeader, epoch, age, unled, tenure} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	for _, m := range c.told() {
		m.Collect(to)
	}
	for _, name := range c.known() {
		var s state
		c.at(name, func(now *state) { s = *now })
		now := c.clock()
		value := func(d *prometheus.Desc, v float64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, name)
		}
		value(isLeader, c.open(name))
		var led struct{ epoch, tenure float64 }
		if s.leads {
			led.epoch = float64(s.epoch)
			led.tenure = max(0, now.Sub(s.since).Seconds())
		}
		value(epoch, led.epoch)
		value(tenure, led.tenure)
		var since time.Duration
		if s.anyBeats {
			since = max(0, now.Sub(s.beaten))
		}
		value(age, ms(since))
		var nobody time.Duration
		if s.unled {
			nobody = max(0, now.Sub(s.unledAt))
		}
		value(unled, nobody.Seconds())
	}
}

// open asks the gate itself: a flag kept here would stay true in a process that hangs.
func (c *Collector) open(name string) float64 {
	if g := c.gate(name); g != nil && g.IsOpen(fence.Act) {
		return 1
	}
	return 0
}
