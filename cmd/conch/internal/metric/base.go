package metric

import (
	"context"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Base measures what only the database knows. It asks at each scrape. A nil Base has no database.
type Base struct {
	ask func(ctx context.Context) (candidates map[string]int, up bool)
}

var _ prometheus.Collector = (*Base)(nil)

// NewBase returns a collector of what ask returns: how many processes campaign for each known
// scope, and whether the database answered just now. While the database is away ask must repeat
// the last numbers: 0 would mean that there is no candidate.
func NewBase(ask func(ctx context.Context) (candidates map[string]int, up bool)) *Base {
	return &Base{ask}
}

// askFor is how long a scrape may wait for the database.
const askFor = time.Second

var (
	databaseUp = prometheus.NewDesc(Prefix+"database_up", "1 if the database answers this process.", nil, nil)
	candidates = prometheus.NewDesc(Prefix+"candidates",
		"Processes alive that campaign for the scope, its leader among them, as the database says on every process.", []string{"scope"}, nil)
)

// Describe implements prometheus.Collector.
func (*Base) Describe(to chan<- *prometheus.Desc) {
	to <- databaseUp
	to <- candidates
}

// Collect implements prometheus.Collector.
func (b *Base) Collect(to chan<- prometheus.Metric) {
	if b == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), askFor)
	defer cancel()
	counts, up := b.ask(ctx)
	answers := 0.0
	if up {
		answers = 1
	}
	to <- prometheus.MustNewConstMetric(databaseUp, prometheus.GaugeValue, answers)
	for scope, n := range counts {
		to <- prometheus.MustNewConstMetric(candidates, prometheus.GaugeValue, float64(n), scope)
	}
}

// Certificates returns a metric of how long certificates last, by name.
func Certificates() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: Prefix + "certificate_expiry_seconds", Help: "How long a certificate lasts that this node shows or relies on; negative once it has ended.",
	}, []string{"name"})
}

// LostLines returns a metric of the lines of the process's log that were lost, which count returns; nil: none ever is.
func LostLines(count func() uint64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: Prefix + "lines_lost_total", Help: "Lines of this process's log that are missing there, since nobody read them or they could not be written.",
	}, func() float64 {
		if count == nil {
			return 0
		}
		return float64(count())
	})
}

// Build returns a metric whose labels say which program this is.
func Build(version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: Prefix + "build_info", Help: "1; the labels say which program this is.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}
