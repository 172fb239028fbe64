package metric

import (
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// Program returns the metrics of the Go runtime and of the process.
func Program() []prometheus.Collector {
	return []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
}

// Page serves collectors, with the metrics of the program: as text, unless something else is asked for. It compresses nothing. It panics
// if two collectors claim one name, which is a mistake in the program.
//
// It does not use the default registry: what a library registers there is no promise of conch.
func Page(all ...prometheus.Collector) http.Handler {
	whole, others := prometheus.NewRegistry(), prometheus.NewRegistry()
	var scopes *Collector // whose lines are many
	for _, one := range append(Program(), all...) {
		whole.MustRegister(one)
		if c, is := one.(*Collector); is {
			scopes = c
		} else {
			others.MustRegister(one)
		}
	}
	usual := promhttp.HandlerFor(whole, promhttp.HandlerOpts{
		// One collector that fails must not hide the others.
		ErrorHandling: promhttp.ContinueOnError, DisableCompression: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultAcceptedFormats()...)
		if scopes == nil || format.FormatType() != expfmt.TypeTextPlain || r.URL.Query().Has("name[]") {
			usual.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", string(format))
		w.Header().Add("Vary", "Accept")
		found, _ := others.Gather() // what could be measured, if not all
		writePage(w, format, found, scopes.read())
	})
}

// writePage writes families in the order of their names. It ends early if the reader has gone.
func writePage(w http.ResponseWriter, format expfmt.Format, found []*dto.MetricFamily, scopes *reading) {
	others := expfmt.NewEncoder(w, format)
	for _, f := range sorted {
		for len(found) > 0 && found[0].GetName() < f.name {
			if others.Encode(found[0]) != nil {
				return
			}
			found = found[1:]
		}
		if f.writeText(w, scopes) != nil {
			return
		}
	}
	for _, one := range found {
		if others.Encode(one) != nil {
			return
		}
	}
}

// sorted are the families by name.
var sorted = slices.SortedFunc(slices.Values(families), func(a, b *family) int { return strings.Compare(a.name, b.name) })
