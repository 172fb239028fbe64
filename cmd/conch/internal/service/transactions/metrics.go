package transactions

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/metric"
)

// backlog is how many transactions of an account are in a state.
type backlog struct {
	Account, State string
	N              int
}

// raised is how many alarms with a cause an account has.
type raised struct {
	Account, Cause string
	N              int
}

// collector counts transactions and alarms when the metrics are read. Every process counts the
// same transactions, those in the database: take the largest number, not the sum.
type collector struct {
	ask    func(ctx context.Context) []backlog
	raised func() []raised
}

var _ prometheus.Collector = (*collector)(nil)

// askFor bounds the wait for the database.
const askFor = time.Second

var (
	measured  metric.Table
	backlogOf = measured.New("pending_transactions", "Transactions of the account that are not final, by state; queued ones have no nonce yet.", "account", "state")
	alarmsOf  = measured.New("account_alarms", "Raised alarms of the account, by cause, on the node that leads it; 0 on all others.", "account", "cause")
)

// Describe implements prometheus.Collector.
func (*collector) Describe(to chan<- *prometheus.Desc) { measured.Describe(to) }

// Collect implements prometheus.Collector.
func (p *collector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), askFor)
	defer cancel()
	for _, b := range p.ask(ctx) {
		metric.Samples(to).Gauge(backlogOf, float64(b.N), b.Account, b.State)
	}
	for _, r := range p.raised() {
		metric.Samples(to).Gauge(alarmsOf, float64(r.N), r.Account, r.Cause)
	}
}
