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

// Raised is how many alarms with a cause hold about an account.
type Raised struct {
	Account, Cause string
	N              int
}

// Pending counts transactions that are under way. It asks for them when the page is
// asked for, so that what it says is as old as the page; the answer is the same on
// every process, since it is the database's: take the largest, not the sum.
type Pending struct {
	ask    func(ctx context.Context) []Backlog
	raised func() []Raised
}

var _ prometheus.Collector = (*Pending)(nil)

// NewPending returns a collector of what ask and raised say. What is known has to be in
// every answer, with 0 if there is none.
func NewPending(ask func(ctx context.Context) []Backlog, raised func() []Raised) *Pending {
	return &Pending{ask, raised}
}

// askFor is how long a page may wait for the database.
const askFor = time.Second

var (
	backlog = prometheus.NewDesc(prefix+"pending_transactions",
		"Transactions of the account that are not final, by state; queued ones have no nonce yet.", []string{"account", "state"}, nil)
	alarms = prometheus.NewDesc(prefix+"account_alarms",
		"Alarms about the account that hold, by cause, as its leader says; 0 on all others.", []string{"account", "cause"}, nil)
)

// Describe implements prometheus.Collector.
func (*Pending) Describe(to chan<- *prometheus.Desc) {
	to <- backlog
	to <- alarms
}

// Collect implements prometheus.Collector.
func (p *Pending) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), askFor)
	defer cancel()
	for _, b := range p.ask(ctx) {
		to <- prometheus.MustNewConstMetric(backlog, prometheus.GaugeValue, float64(b.N), b.Account, b.State)
	}
	for _, r := range p.raised() {
		to <- prometheus.MustNewConstMetric(alarms, prometheus.GaugeValue, float64(r.N), r.Account, r.Cause)
	}
}
