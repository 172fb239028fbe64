package metric

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Page serves collectors as text, with what Go and the system say of the process.
// It panics if two of them claim one name, which is a mistake in the program.
//
// A page of its own and not the default registry: what a library registers there
// on import is no part of what conch promises.
func Page(all ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(all...)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		// One collector that fails must not hide the others.
		ErrorHandling: promhttp.ContinueOnError,
	})
}
