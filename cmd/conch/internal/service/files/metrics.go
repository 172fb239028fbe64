package files

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/metric"
)

// shelf is the metrics of one scope.
type shelf struct {
	Scope string
	Files int
	Bytes int64
	// Behind says, on the leader alone, for each peer whether it lacks a part of the latest version.
	Behind map[string]bool
}

// collector measures the files whenever the page is read.
type collector struct{ look func() []shelf }

var _ prometheus.Collector = (*collector)(nil)

var (
	fileCount = prometheus.NewDesc(metric.Prefix+"files", "Number of files of the scope that this process holds.", []string{"scope"}, nil)
	fileBytes = prometheus.NewDesc(metric.Prefix+"files_bytes", "Total size of those files.", []string{"scope"}, nil)
	behind    = prometheus.NewDesc(metric.Prefix+"files_behind",
		"1 while the peer lacks a part of the leader's latest version. Only the leader has this metric.", []string{"scope", "peer"}, nil)
)

// Describe implements prometheus.Collector.
func (*collector) Describe(to chan<- *prometheus.Desc) {
	to <- fileCount
	to <- fileBytes
	to <- behind
}

// Collect implements prometheus.Collector.
func (f *collector) Collect(to chan<- prometheus.Metric) {
	for _, s := range f.look() {
		to <- prometheus.MustNewConstMetric(fileCount, prometheus.GaugeValue, float64(s.Files), s.Scope)
		to <- prometheus.MustNewConstMetric(fileBytes, prometheus.GaugeValue, float64(s.Bytes), s.Scope)
		for peer, lacks := range s.Behind {
			v := 0.0
			if lacks {
				v = 1
			}
			to <- prometheus.MustNewConstMetric(behind, prometheus.GaugeValue, v, s.Scope, peer)
		}
	}
}
