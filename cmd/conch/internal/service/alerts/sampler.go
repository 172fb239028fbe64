package alerts

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/condition"
	"github.com/conchhq/conch/cmd/conch/internal/condition/sample"
	"github.com/conchhq/conch/cmd/conch/internal/metric"
)

// sampler makes what a node tells of itself each interval. It is not for concurrent use.
type sampler struct {
	picker *metric.Picker
	writer sample.Writer
}

// newSampler returns a sampler of what the alerts of a file name, among what these collectors have: those of /metrics.
func newSampler(all []prometheus.Collector, s *Section) *sampler {
	return &sampler{picker: metric.NewPicker(all, condition.Names(s.Conditions()...))}
}

// Sample measures, and returns the body of the next row.
func (s *sampler) Sample() []byte { return s.writer.WriteBody(s.picker.ReadSeries()) }
