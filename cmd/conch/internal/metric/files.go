package metric

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Shelf is what a node holds of the files of a scope.
type Shelf struct {
	Scope string
	Files int
	Bytes int64
	// Behind says of each peer whether it lacks some of what the leader holds. Nobody but
	// the leader knows: empty on all others.
	Behind map[string]bool
}

// Files measures what a node holds, whenever the page is asked for.
type Files struct{ look func() []Shelf }

var _ prometheus.Collector = (*Files)(nil)

// NewFiles returns a collector of what look says.
func NewFiles(look func() []Shelf) *Files { return &Files{look} }

var (
	files     = prometheus.NewDesc(prefix+"files", "Files of the scope that this process holds.", []string{"scope"}, nil)
	fileBytes = prometheus.NewDesc(prefix+"files_bytes", "Their sizes, summed.", []string{"scope"}, nil)
	behind    = prometheus.NewDesc(prefix+"files_behind",
		"1 while the peer lacks some of what the leader holds, as the leader says; absent on all others.", []string{"scope", "peer"}, nil)
)

// Describe implements prometheus.Collector.
func (*Files) Describe(to chan<- *prometheus.Desc) {
	to <- files
	to <- fileBytes
	to <- behind
}

// Collect implements prometheus.Collector.
func (f *Files) Collect(to chan<- prometheus.Metric) {
	for _, s := range f.look() {
		to <- prometheus.MustNewConstMetric(files, prometheus.GaugeValue, float64(s.Files), s.Scope)
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
