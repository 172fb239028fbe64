package transactions

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/metric"
)

// hookCollector says how the receivers of the node's file are. Every process with the same file says the same of the database: take the
// largest number, not the sum.
type hookCollector struct{ hooks *webhooks }

var _ prometheus.Collector = hookCollector{}

var (
	hooksMeasured = metric.Table{Of: "webhook_"}

	hookEvents  = hooksMeasured.New("events", "Events that the receiver has refused, and those of their transactions behind them, by state; 10,000 may be more.", "webhook", "state")
	hookBehind  = hooksMeasured.New("behind_seconds", "The age of the oldest event that the receiver was not told of and has not refused.", "webhook")
	hookFailing = hooksMeasured.New("failing_seconds", "For how long the receiver has refused everything; 0 once it takes an event.", "webhook")
	hookPosts   = hooksMeasured.New("posts_total", "POSTs of this process to the receiver, by outcome.", "webhook", "outcome")
)

// Describe implements prometheus.Collector.
func (hookCollector) Describe(to chan<- *prometheus.Desc) { hooksMeasured.Describe(to) }

// Collect implements prometheus.Collector.
func (c hookCollector) Collect(to chan<- prometheus.Metric) {
	all, _ := c.hooks.now()
	if len(all) == 0 {
		return
	}
	out := metric.Samples(to)
	c.hooks.mu.Lock()
	for _, r := range all {
		for _, outcome := range []string{taken, refused} {
			out.Count(hookPosts, float64(c.hooks.posts[[2]string{r.Name, outcome}]), r.Name, outcome)
		}
	}
	c.hooks.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), askFor)
	defer cancel()
	states, err := c.hooks.states(ctx)
	if err != nil {
		return // 0 would be false
	}
	for _, s := range states {
		if !s.Here {
			continue
		}
		out.Gauge(hookEvents, float64(s.Waiting), s.Name, "waiting")
		out.Gauge(hookEvents, float64(s.Dead), s.Name, "dead")
		out.Gauge(hookBehind, float64(s.BehindMS)/1000, s.Name)
		failing := 0.0
		if s.FailingSince != nil {
			failing = max(0, time.Since(*s.FailingSince).Seconds())
		}
		out.Gauge(hookFailing, failing, s.Name)
	}
}
