package metric

import "github.com/prometheus/client_golang/prometheus"

// Table has the metrics of a service, which measures them whenever the page is read.
type Table struct {
	Of  string // stands in each name behind the prefix
	all []*prometheus.Desc
}

// New makes a metric.
func (t *Table) New(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(Prefix+t.Of+name, help, labels, nil)
	t.all = append(t.all, d)
	return d
}

// Describe is Describe of the service's collector.
func (t *Table) Describe(to chan<- *prometheus.Desc) {
	for _, d := range t.all {
		to <- d
	}
}

// Samples takes what a collector measures.
type Samples chan<- prometheus.Metric

// Gauge adds a number that may fall.
func (s Samples) Gauge(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// Flag adds 1 if something is so, and else 0.
func (s Samples) Flag(d *prometheus.Desc, is bool, labels ...string) {
	s.Gauge(d, map[bool]float64{true: 1}[is], labels...)
}

// Count adds a number that only rises.
func (s Samples) Count(d *prometheus.Desc, v float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}
