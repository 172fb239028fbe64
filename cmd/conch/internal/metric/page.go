package metric

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Program returns the metrics of the Go runtime and of the process.
func Program() []prometheus.Collector {
	return []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
}

// Page serves collectors as text, with the metrics of the program. It panics
// if two collectors claim one name, which is a mistake in the program.
//
// It does not use the default registry: what a library registers there is no promise of conch.
func Page(all ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(Program()...)
	registry.MustRegister(all...)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		// One collector that fails must not hide the others.
		ErrorHandling: promhttp.ContinueOnError,
	})
}
