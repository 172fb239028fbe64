package metric_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

func textOf(t *testing.T, page http.Handler, accept string) (kind, text string) {
	t.Helper()
	out, ask := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	ask.Header.Set("Accept", accept)
	page.ServeHTTP(out, ask)
	return out.Header().Get("Content-Type"), out.Body.String()
}

// S17, S30, S31, F7: the lines that the page writes itself, for its speed, are those of Prometheus' own library: names of scopes that have to
// be escaped, numbers of all sizes, the order. All families stand in the order of their names, and other formats are the library's.
func TestTextIsThatOfTheLibrary(t *testing.T) {
	t.Parallel()
	scopes := []string{"b", "a/b%2Fc?d#e", "quote\"back\\slash\nline", "<img>", "🐚 é"}
	for name, made := range map[string]func([]string, func(string) *fence.Gate, fence.Clock) *metric.Collector{"full": metric.New, "gauges": metric.NewSummed} {
		now := at(time.Hour)
		c := made(scopes, func(string) *fence.Gate { return nil }, func() fence.Instant { return now })
		c.Add("added later", "0")
		e := c.Events()
		for i, scope := range scopes {
			e.Attempt(election.Bidding{Scopes: []string{scope}, Sent: now, Took: 1234567 * time.Nanosecond, Results: []mint.Result{{Scope: scope, Outcome: mint.Won}}})
			e.Fact(election.Fact{Kind: election.Acquired, Scope: scope, Token: fence.Token{Epoch: 12_345_678_901 + int64(i)}})
			for n := range 40 {
				e.Beat(election.Heartbeat{Scopes: []string{scope}, Sent: now, Took: time.Duration(n*n*n) * 333 * time.Microsecond, Renewed: []bool{true}})
			}
			e.Fact(election.Fact{Kind: election.Failing, Scope: scope, Err: election.ErrStalled})
		}
		e.Fact(election.Fact{Kind: election.Lost, Scope: "b", Err: election.ErrDeposed})
		e.Fact(election.Fact{Kind: election.Unled, Scope: "b", Took: 123_456_789 * time.Microsecond})
		for range 1_000_001 { // a number that is written with an exponent
			c.Blocked("<img>")
		}
		now = now.Add(7777 * time.Microsecond)
		library := prometheus.NewRegistry()
		library.MustRegister(c, metric.Build("v1"))
		page := metric.Page(c, metric.Build("v1"))
		kind, text := textOf(t, page, "")
		wantKind, want := textOf(t, promhttp.HandlerFor(library, promhttp.HandlerOpts{}), "")
		var mine, families []string
		for line := range strings.Lines(text) {
			if strings.Contains(line, "conch_") {
				mine = append(mine, line)
			}
			if about, is := strings.CutPrefix(line, "# TYPE "); is {
				families = append(families, about)
			}
		}
		if got := strings.Join(mine, ""); kind != wantKind || got != want {
			t.Errorf("%s: the page is of the kind %q, want %q; it has\n%s\nwant\n%s", name, kind, wantKind, got, want)
		}
		if !slices.IsSorted(families) {
			t.Errorf("%s: the families are not in order: %q", name, families)
		}
		binary, other := textOf(t, page, "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
		if !strings.Contains(binary, "protobuf") || !strings.Contains(other, "conch_leader_epoch") || strings.Contains(other, "# TYPE") {
			t.Errorf("%s: who asks for protobuf gets %q", name, binary)
		}
		if got := strings.Count(want, "\nconch_"); got < 80 || !strings.Contains(want, "e+06") {
			t.Errorf("%s: the library writes %d lines, want many, and a large number:\n%s", name, got, fmt.Sprint(want))
		}
	}
}
