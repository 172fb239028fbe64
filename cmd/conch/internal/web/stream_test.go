package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// stream is an open event stream.
type stream struct {
	t     testing.TB
	lines *bufio.Scanner
	close func()
}

// follow opens a stream and reads its first line.
func follow(t testing.TB, ln net.Listener, path string, header ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ln.Addr().String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	answer, err := webtest.Client(t, &http.Transport{}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" || answer.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%s answers %d with the header %v, want 200, an event stream and no-store", path, answer.StatusCode, answer.Header)
	}
	s := &stream{t: t, lines: bufio.NewScanner(answer.Body), close: func() { cancel(); _ = answer.Body.Close() }}
	if got := s.line(); got != "retry: 2000" {
		t.Errorf("the stream begins with %q, want retry: 2000", got)
	}
	return s
}

// line returns the next line that is not empty; "" at the end.
func (s *stream) line() string {
	for s.lines.Scan() {
		if s.lines.Text() != "" {
			return s.lines.Text()
		}
	}
	return ""
}

// events reads n events, compares them with the document, and returns each as "id:event".
func (s *stream) events(n int) (got []string) {
	s.t.Helper()
	doc := webtest.Read(s.t)
	for len(got) < n {
		id := s.line()
		if strings.HasPrefix(id, ":") {
			continue
		}
		if id == "event: source" { // tests of it are elsewhere
			s.line()
			continue
		}
		data, ok := strings.CutPrefix(s.line(), "data: ")
		var e map[string]any
		if err := json.Unmarshal([]byte(data), &e); err != nil || !ok {
			s.t.Fatalf("after %v: %q, %q: %v", got, id, data, err)
		}
		for _, f := range doc.Faults("event", doc.At(doc.Root(), "components", "schemas", "Event"), e) {
			s.t.Error(f)
		}
		if id != fmt.Sprintf("id: %v", e["id"]) {
			s.t.Errorf("%q comes with the data of event %v, want its own", id, e["id"])
		}
		got = append(got, fmt.Sprintf("%v:%v", e["id"], e["event"]))
	}
	return got
}

func (s *stream) expect(want ...string) {
	s.t.Helper()
	if got := s.events(len(want)); !slices.Equal(got, want) {
		s.t.Errorf("the stream has %q, want %q", got, want)
	}
}

// expectAll wants events in any order: one with a lower id may become visible later.
func (s *stream) expectAll(want ...string) {
	s.t.Helper()
	if got := slices.Sorted(slices.Values(s.events(len(want)))); !slices.Equal(got, want) {
		s.t.Errorf("the stream has %q, want %q", got, want)
	}
}

// F8: a stream has no events from before its start. A client that reconnects gets what it
// missed, from this process's memory or from the history.
func TestStreamAndResume(t *testing.T) {
	w := newWorld()
	w.add(1, "payments", "acquired")
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)

	first := follow(t, ln, "/v1/events")
	some := follow(t, ln, "/v1/events?scope=zoo")
	w.add(2, "payments", "drained")
	first.expect("2:drained")
	first.close()
	w.add(3, "zoo", "acquired")
	w.add(4, "payments", "acquired")
	some.expect("3:acquired")

	again := follow(t, ln, "/v1/events", "Last-Event-ID: 2")
	again.expect("3:acquired", "4:acquired")
	w.add(6, "payments", "lost")
	again.expect("6:lost")
	// An event with a lower id that becomes visible later is sent all the same, also to a
	// client that reconnects with the higher id.
	w.add(5, "zoo", "released")
	again.expect("5:released")
	follow(t, ln, "/v1/events", "Last-Event-ID: 6").expect("5:released")

	// Another process has none of the events in memory.
	other := listen(t, nil)
	webtest.Serve(t, w.site(t), other)
	follow(t, other, "/v1/events?scope=zoo", "Last-Event-ID: 1").expect("3:acquired", "5:released")
}

// Without the watch's events, a stream is only slower.
func TestStreamWithoutNotifications(t *testing.T) {
	runtest.LongRun(t)
	w := newWorld()
	w.deaf = true
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	s := follow(t, ln, "/v1/events")
	w.add(1, "payments", "acquired")
	s.expect("1:acquired")
}

// An event from the watch is sent without a look at the history.
func TestStreamTellsWhatIsWatched(t *testing.T) {
	w := newWorld()
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	s := follow(t, ln, "/v1/events")
	pgtest.Eventually(t, 10*time.Second, "the watch to begin", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.watchers) == 1
	})
	w.set(func() { w.err = webtest.ErrAway })
	w.add(2, "payments", "acquired")
	s.expect("2:acquired")
	w.add(1, "payments", "lost")
	s.expect("1:lost")
}

// An event that is sent as missed, and that the next look finds again, is sent once.
func TestStreamTellsOnce(t *testing.T) {
	w := newWorld()
	w.add(1, "payments", "acquired")
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	a := follow(t, ln, "/v1/events")
	a.close()
	w.set(func() { w.deaf = true })
	a = follow(t, ln, "/v1/events")
	w.add(2, "payments", "drained") // the feed has not seen it yet
	b := follow(t, ln, "/v1/events", "Last-Event-ID: 1")
	b.expect("2:drained")
	a.expect("2:drained") // now it has
	w.add(3, "payments", "acquired")
	b.expect("3:acquired")
}

// All events of a burst between two looks are sent.
func TestStreamOfABurst(t *testing.T) {
	w := newWorld()
	w.add(1, "payments", "acquired")
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	s := follow(t, ln, "/v1/events?scope=zoo")
	w.set(func() {
		for id := int64(2); id < 900; id++ {
			e := w.events[0]
			e.ID = id
			if id%5 == 0 {
				e.Scope = "zoo"
			}
			w.events = append(w.events, e)
		}
	})
	if got := s.events(179); got[0] != "5:acquired" || got[178] != "895:acquired" {
		t.Errorf("the stream has %s to %s, want 5 to 895", got[0], got[178])
	}
}

// A client that missed more than is sent again is told so.
func TestStreamGap(t *testing.T) {
	w := newWorld()
	for id := int64(1); id <= 1100; id++ {
		w.add(id, "payments", "acquired")
	}
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	s := follow(t, ln, "/v1/events", "Last-Event-ID: 10")
	if got := []string{s.line(), s.line()}; !slices.Equal(got, []string{"event: gap", "data: {}"}) {
		t.Errorf("got %q for a gap, want event: gap and data: {}", got)
	}
	if got := s.events(1024); got[0] != "77:acquired" {
		t.Errorf("resumed at %s, want 77, the first of the last 1024", got[0])
	}
}

// A client that reads nothing is dropped, and does not delay the others.
func TestSlowStreamIsDropped(t *testing.T) {
	w := newWorld()
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	slow, quick := follow(t, ln, "/v1/events"), follow(t, ln, "/v1/events?scope=zoo")
	w.set(func() {
		// More than all buffers on the way hold.
		for id := int64(1); id <= 8000; id++ {
			w.events = append(w.events, eventOf(id, strings.Repeat("x", 4000)))
		}
	})
	w.add(8001, "zoo", "acquired")
	quick.expect("8001:acquired")
	n := 0
	for slow.line() != "" {
		n++
	}
	if n >= 16000 || slow.lines.Err() != nil {
		t.Errorf("the slow client got %d lines and ended with %v, want fewer than 16000 and no error", n, slow.lines.Err())
	}
}

// A silent stream has comments, and ends cleanly.
func TestStreamKeepAliveAndEnd(t *testing.T) {
	w := newWorld()
	w.cfg.KeepAlive = 5 * time.Millisecond
	ln := listen(t, nil)
	stop := webtest.Serve(t, w.site(t), ln)
	s := follow(t, ln, "/v1/events")
	for range 3 {
		if got := s.line(); got != ": alive" {
			t.Errorf("the silent stream has %q, want : alive", got)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("the server ended with %v, want no error", err)
	}
	last := ""
	for l := s.line(); l != ""; l = s.line() {
		last = l
	}
	if last != ": ending" || s.lines.Err() != nil {
		t.Errorf("the last line is %q, then %v; want : ending and no error", last, s.lines.Err())
	}
}

// The stream of a client ends when its token is revoked.
func TestStreamEndsWithItsToken(t *testing.T) {
	w := newWorld()
	file := webtest.TokenFile(t, "read", webtest.ReadSecret)
	tokens, err := web.LoadTokens(file, "")
	if err != nil {
		t.Fatal(err)
	}
	w.cfg.Tokens, w.cfg.KeepAlive = tokens, 5*time.Millisecond
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	s := follow(t, ln, "/v1/events", "Authorization: Bearer "+webtest.ReadSecret)
	if err := os.WriteFile(file, []byte("other-0123456789abcdef-0123"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tokens.Reload(); err != nil {
		t.Fatal(err)
	}
	for s.line() == ": alive" {
		continue
	}
	if s.lines.Err() != nil {
		t.Errorf("the stream ended with %v, want no error", s.lines.Err())
	}
}

// No more than MaxStreams streams are open, and a closed one makes room for another.
func TestStreamLimit(t *testing.T) {
	w := newWorld()
	w.cfg.MaxStreams = 2
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	a := follow(t, ln, "/v1/events")
	follow(t, ln, "/v1/events")
	ask := func() int {
		answer, err := webtest.Client(t, &http.Transport{}).Head("http://" + ln.Addr().String() + "/v1/events")
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("HEAD: error %v, or a status other than 200", err)
		}
		_ = answer.Body.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ln.Addr().String()+"/v1/events", nil)
		answer, err = webtest.Client(t, &http.Transport{}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	if code := ask(); code != 503 {
		t.Errorf("the third stream: status %d, want 503", code)
	}
	a.close()
	pgtest.Eventually(t, 10*time.Second, "the closed stream makes room", func() bool { return ask() == 200 })
}
