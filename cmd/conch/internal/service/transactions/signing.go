package transactions

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/metric"
)

// signing measures how long the signers of accounts take. It is safe for concurrent use.
type signing struct {
	accounts *accounts
	seconds  *prometheus.HistogramVec
}

var _ prometheus.Collector = (*signing)(nil)

// signingSeconds are buckets, from a key in this process over a service of keys to a person who confirms.
var signingSeconds = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

func newSigning(of *accounts) *signing {
	return &signing{of, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: metric.Prefix + "signing_seconds", Help: "How long the account's signer took for a signature, on the node that leads the account; one that it refused counts too.", Buckets: signingSeconds,
	}, []string{"account"})}
}

func (s *signing) took(by accountID, long time.Duration) {
	s.seconds.WithLabelValues(s.accounts.nameOf(by)).Observe(long.Seconds())
}

// Describe implements prometheus.Collector.
func (s *signing) Describe(to chan<- *prometheus.Desc) { s.seconds.Describe(to) }

// Collect implements prometheus.Collector.
func (s *signing) Collect(to chan<- prometheus.Metric) {
	for _, a := range s.accounts.all() {
		s.seconds.WithLabelValues(a.Name) // 0, and not nothing
	}
	s.seconds.Collect(to)
}
