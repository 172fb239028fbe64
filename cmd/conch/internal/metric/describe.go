package metric

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Prefix begins the name of every metric.
const Prefix = "conch_"

// family is a metric of scopes: a column of the counters or some, of the histograms, or of the gauges.
type family struct {
	desc       *prometheus.Desc
	name, help string
	kind       dto.MetricType
	at         int      // the first column
	reasons    []string // one column each, sorted; nil: it has no such label
}

func familyAt(kind dto.MetricType, at int, name, help string, reasons []string) *family {
	labels := []string{"scope"}
	if reasons != nil {
		labels = append(labels, "reason")
	}
	return &family{prometheus.NewDesc(Prefix+name, help, labels, nil), Prefix + name, help, kind, at, reasons}
}

func counter(at int, name, help string, reasons ...string) *family {
	return familyAt(dto.MetricType_COUNTER, at, name, help, reasons)
}

func histogramOf(at int, name, help string) *family {
	return familyAt(dto.MetricType_HISTOGRAM, at, name, help, nil)
}

func gauge(at int, name, help string) *family {
	return familyAt(dto.MetricType_GAUGE, at, name, help, nil)
}

// Columns of the gauges.
const (
	isLeader = iota
	epoch
	age
	unled
	tenure
	gauges
)

var families = []*family{
	counter(acquired, "leader_acquired_total", "Times this process was made the leader of the scope."),
	counter(lost, "leadership_lost_total", "Leaderships of this process that ended, by why.", Reasons[:]...),
	counter(attempts, "acquire_attempts_total", "Bids of this process for the scope."),
	counter(blocked, "extrinsic_blocked_not_leader_total", "Transmissions refused because this process was not the leader."),
	counter(begun, "leader_elections_total", "Epochs that began with this process."),
	counter(failovers, "leader_failovers_total", "Epochs that began with this process without a release of the one before."),
	counter(failed, "role_failures_total", "Failures of the scope's role in this process, each of which gave the scope up.", Failures[:]...),
	histogramOf(acquire, "acquire_latency_ms", "From the first bid that found no other holder to the token."),
	histogramOf(beat, "heartbeat_update_ms", "Round trips of heartbeats that succeeded."),
	gauge(isLeader, "is_leader", "1 while this process may act for the scope, by its gate's own clock."),
	gauge(epoch, "leader_epoch", "The epoch that this process leads the scope in, 0 while it does not."),
	gauge(age, "heartbeat_age_ms", "Since the leader's last good heartbeat was sent, as far as this process knows."),
	gauge(unled, "leaderless_seconds", "For how long nobody leads a scope that this process wants, once that is three leases; 0 if somebody does, or it cannot know."),
	gauge(tenure, "leader_tenure_seconds", "How long this process has held its leadership of the scope, 0 while it holds none."),
}

// Describe implements prometheus.Collector.
func (*Collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range families {
		to <- f.desc
	}
}

// Collect implements prometheus.Collector. [Page] writes the same without it.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	r := c.read()
	for _, f := range families {
		for reason := range max(1, len(f.reasons)) {
			for i := range f.of(r) {
				to <- &series{f, r, reason, i}
			}
		}
	}
}

// of is how many scopes the family has.
func (f *family) of(r *reading) int {
	if f.kind == dto.MetricType_GAUGE {
		return len(r.scopes)
	}
	return len(r.counted)
}

// series is one of a scope and a reason.
type series struct {
	*family

	read      *reading
	reason, i int
}

// Desc implements prometheus.Metric.
func (s *series) Desc() *prometheus.Desc { return s.desc }

var labelReason, labelScope = "reason", "scope"

// Write implements prometheus.Metric.
func (s *series) Write(to *dto.Metric) error {
	var scope string
	switch s.kind {
	case dto.MetricType_COUNTER:
		of := &s.read.counted[s.i]
		v := float64(of.counts[s.at+s.reason])
		scope, to.Counter = of.scope, &dto.Counter{Value: &v, CreatedTimestamp: s.read.made.GetCreatedTimestamp()}
	case dto.MetricType_HISTOGRAM:
		of := &s.read.counted[s.i]
		scope, to.Histogram = of.scope, of.times[s.at].message()
		to.Histogram.CreatedTimestamp = s.read.made.GetCreatedTimestamp()
	default:
		of := &s.read.scopes[s.i]
		scope, to.Gauge = of.scope, &dto.Gauge{Value: &of.now[s.at]}
	}
	if s.reasons != nil {
		to.Label = append(to.Label, &dto.LabelPair{Name: &labelReason, Value: &s.reasons[s.reason]})
	}
	to.Label = append(to.Label, &dto.LabelPair{Name: &labelScope, Value: &scope})
	return nil
}

func (h *histogram) message() *dto.Histogram {
	out, n := &dto.Histogram{SampleSum: &h.sum}, uint64(0)
	for i, most := range milliseconds {
		n += h.buckets[i]
		sum := n
		out.Bucket = append(out.Bucket, &dto.Bucket{UpperBound: &most, CumulativeCount: &sum})
	}
	n += h.buckets[len(milliseconds)]
	out.SampleCount = &n
	return out
}

// born returns a counter that begins now.
func born() *dto.Counter {
	var now dto.Metric
	_ = prometheus.NewCounter(prometheus.CounterOpts{Name: "born"}).Write(&now) // it cannot fail
	return now.GetCounter()
}
