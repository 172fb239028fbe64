package condition

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// printed is the metrics that nodes export, as docs/metrics.md and docs/contracts.md have them: TestMetrics writes it.
//
//go:embed metrics.txt
var printed string

// Metric is one that nodes export, or that a window makes.
type Metric struct {
	Name    string
	Counter bool
	Labels  []string // its own
}

// Metrics lists them. A histogram is three: its buckets, its sum and its count.
func Metrics() []Metric { return known() }

var known = sync.OnceValue(func() []Metric {
	all := []Metric{{Name: Up}}
	for line := range strings.Lines(printed) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		one := Metric{words[0], words[1] == "counter", words[2:]}
		if words[1] != "histogram" {
			all = append(all, one)
			continue
		}
		for behind, more := range map[string][]string{"_bucket": {"le"}, "_sum": nil, "_count": nil} {
			all = append(all, Metric{one.Name + behind, true, slices.Concat(one.Labels, more)})
		}
	}
	slices.SortFunc(all, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return all
})

// find returns a metric by its name.
func find(name string) (Metric, bool) {
	at, is := slices.BinarySearchFunc(known(), name, func(m Metric, name string) int { return strings.Compare(m.Name, name) })
	if !is {
		return Metric{}, false
	}
	return known()[at], true
}

// ofProgram reports whether a metric is one of the Go runtime or of the process, which conch exports and does not promise.
func ofProgram(name string) bool {
	return strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_")
}

// scraped are labels that only a scrape adds. They are empty here, which does no harm in by(…) and on(…).
var scraped = []string{"job", "namespace", "app_kubernetes_io_name", "pod", "container", "service"}
