package metric

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Backlog is how many transactions of an account are in a state.
type Backlog struct {
	Account, State string
	N              int
}

// Pending counts transactions that are under way. It asks for them when the page is
// asked for, so that what it says is as old as the page; the answer is the same on
// every process, since it is the database's: take the largest, not the sum.
type Pending struct {
	ask func(ctx context.Context) []Backlog
}

var _ prometheus.Collector = (*Pending)(nil)

// NewPending returns a collector of what ask says. What is known has to be in every
// answer, with 0 if there is none.
func NewPending(ask func(ctx context.Context) []Backlog) *Pending { return &Pending{ask: ask} }

// askFor is how long a page may wait for the database.
const askFor = time.Second

var backlog = prometheus.NewDesc(prefix+"pending_transactions",
	"Transactions of the account that are not final, by state; queued ones have no nonce yet.", []string{"account", "state"}, nil)

// Describe implements prometheus.Collector.
func (*Pending) Describe(to chan<- *prometheus.Desc) { to <- backlog }

// Collect implements prometheus.Collector.
func (p *Pending) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), askFor)
	defer cancel()
	for _, b := range p.ask(ctx) {
		to <- prometheus.MustNewConstMetric(backlog, prometheus.GaugeValue, float64(b.N), b.Account, b.State)
	}
}
