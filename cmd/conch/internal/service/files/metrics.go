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
	measured  metric.Table
	fileCount = measured.New("files", "Number of files of the scope that this process holds.", "scope")
	fileBytes = measured.New("files_bytes", "Total size of those files.", "scope")
	behind    = measured.New("files_behind", "1 while the peer lacks a part of the leader's latest version. Only the leader has this metric.", "scope", "peer")
)

// Describe implements prometheus.Collector.
func (*collector) Describe(to chan<- *prometheus.Desc) { measured.Describe(to) }

// Collect implements prometheus.Collector.
func (f *collector) Collect(to chan<- prometheus.Metric) {
	for _, s := range f.look() {
		metric.Samples(to).Gauge(fileCount, float64(s.Files), s.Scope)
		metric.Samples(to).Gauge(fileBytes, float64(s.Bytes), s.Scope)
		for peer, lacks := range s.Behind {
			metric.Samples(to).Flag(behind, lacks, s.Scope, peer)
		}
	}
}
