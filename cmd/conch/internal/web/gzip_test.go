package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// /metrics is compressed for those that take it, whatever wrote it; a fault is not.
func TestMetricsAreCompressed(t *testing.T) {
	t.Parallel()
	w := newWorld()
	status := http.StatusOK
	text := strings.Repeat("conch_is_leader{scope=\"payments\"} 1\n", 1000)
	w.cfg.Metrics = http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		if status != http.StatusOK {
			out.WriteHeader(status)
		}
		_, _ = io.WriteString(out, text)
	})
	site := w.site(t)
	ask := func(accepts string) *httptest.ResponseRecorder {
		r, out := exchange{Ask: "GET /metrics"}.Request(), httptest.NewRecorder()
		r.Header.Set("Accept-Encoding", accepts)
		site.Ops().ServeHTTP(out, r)
		return out
	}
	for range 2 { // the second one's compressor was another's
		out := ask("zstd, gzip")
		size := out.Body.Len()
		unpacked, err := gzip.NewReader(out.Body)
		if err != nil || out.Header().Get("Content-Encoding") != "gzip" || size*20 > len(text) {
			t.Fatalf("%v: %v, %d bytes; want it compressed", err, out.Header(), size)
		}
		if got, err := io.ReadAll(unpacked); err != nil || string(got) != text {
			t.Errorf("%v: the text is another", err)
		}
	}
	if out := ask("gzip;q=0"); out.Header().Get("Content-Encoding") != "" || out.Body.String() != text {
		t.Errorf("%v: want it as it is", out.Header())
	}
	if status = http.StatusInternalServerError; ask("gzip").Header().Get("Content-Encoding") != "" {
		t.Error("a fault is compressed, want it as it is")
	}
}
