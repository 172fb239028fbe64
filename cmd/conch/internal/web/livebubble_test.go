package web_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/election/pgops"
)

// A viewer costs bytes and no statement: twenty cost what one costs.
func TestViewersShareOneReading(t *testing.T) {
	t.Parallel()
	cost := func(viewers int) (statements map[string]int) {
		synctest.Test(t, func(t *testing.T) {
			w, p := newWorld(), webtest.NewPipes()
			well(w)
			site := w.site(t)
			webtest.Serve(t, site, p)
			c := webtest.Client(t, &http.Transport{DialTLSContext: p.Dial})
			for range viewers {
				s := openLive(t, c, "")
				go func() {
					for s.line() != "" {
						continue
					}
				}()
			}
			synctest.Wait()
			for range 30 {
				webtest.Pass(t, time.Second)
				for range viewers {
					for _, path := range []string{"/v1/overview", "/v1/scopes?view=dense"} {
						out := httptest.NewRecorder()
						if site.API().ServeHTTP(out, exchange{Ask: "GET " + path}.Request()); out.Code != 200 {
							t.Errorf("%s: %d %s", path, out.Code, out.Body)
						}
					}
				}
			}
			w.set(func() { statements = map[string]int{"beats": w.reads["beats"], "scopes": w.reads["scopes"]} })
		})
		return statements
	}
	one, many := cost(1), cost(20)
	if one["beats"] < 29 || one["beats"] > 32 || one["scopes"] > 8 {
		t.Errorf("one viewer costs %v in 30 s, want one reading of heartbeats a second and one of rows each five", one)
	}
	if many["beats"] > one["beats"]+1 || many["scopes"] > one["scopes"]+1 {
		t.Errorf("twenty viewers cost %v, and one costs %v; want the same", many, one)
	}
}

// openLive opens a page's stream through pipes.
func openLive(t *testing.T, c *http.Client, last string) *stream {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://conch/v1/events?live=yes", nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	return readLive(t, c, r)
}

// A page that reads nothing is dropped, holds no more than its place, and delays no other.
func TestASlowPageIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, p := newWorld(), webtest.NewPipes()
		crowd(w)
		webtest.Serve(t, w.site(t), p)
		c := webtest.Client(t, &http.Transport{DialTLSContext: p.Dial})
		slow, quick := openLive(t, c, ""), openLive(t, c, "")
		newest := make(chan struct{})
		go func() {
			defer close(newest)
			quick.await("scope", func(data map[string]any) bool { return data["rows"].([]any)[0].(map[string]any)["epoch"] == 30.0 })
		}()
		for id := int64(1); id <= 30; id++ {
			w.change(id, "payments", func(l *pgops.ScopeStatus) { l.Epoch, l.LastFailure = id, strings.Repeat("x", 4000) })
			if id == 30 {
				break
			}
			webtest.Pass(t, time.Second)
		}
		<-newest
		scopes := 0
		for {
			e, ok := slow.next()
			if !ok {
				break
			}
			if e.name == "scope" {
				scopes++
			}
		}
		if scopes >= 30 {
			t.Errorf("a page that read nothing for 30 s got %d changes and then its end, want that it was dropped", scopes)
		}
	})
}

// readLive sends the request of a page's stream.
func readLive(t *testing.T, c *http.Client, r *http.Request) *stream {
	t.Helper()
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return &stream{t: t, lines: bufio.NewScanner(res.Body)}
}
