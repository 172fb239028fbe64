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
		t.Fatalf("%s answers %d %v", path, answer.StatusCode, answer.Header)
	}
	s := &stream{t: t, lines: bufio.NewScanner(answer.Body), close: func() { cancel(); _ = answer.Body.Close() }}
	if got := s.line(); got != "retry: 2000" {
		t.Errorf("the stream begins with %q", got)
	}
	return s
}

// line is the next one that is not empty, "" at the end.
func (s *stream) line() string {
	for s.lines.Scan() {
		if s.lines.Text() != "" {
			return s.lines.Text()
		}
	}
	return ""
}

// events reads n of them and returns "id:event"; each has to be as documented.
func (s *stream) events(n int) (got []string) {
	s.t.Helper()
	doc := webtest.Read(s.t)
	for len(got) < n {
		id := s.line()
		if strings.HasPrefix(id, ":") {
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
			s.t.Errorf("%q has the data of %v", id, e["id"])
		}
		got = append(got, fmt.Sprintf("%v:%v", e["id"], e["event"]))
	}
	return got
}

func (s *stream) expect(want ...string) {
	s.t.Helper()
	if got := s.events(len(want)); !slices.Equal(got, want) {
		s.t.Errorf("told %q, want %q", got, want)
	}
}

// F8: what happened before is not told, what happens is; a client that comes back
// gets what it missed, from this process's memory or from the history.
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
	// An id that was drawn earlier and became visible later is told of all the same,
	// and a client that had seen only the later one gets it when it comes back.
	w.add(5, "zoo", "released")
	again.expect("5:released")
	follow(t, ln, "/v1/events", "Last-Event-ID: 6").expect("5:released")

	// Another process has none of it in memory.
	other := listen(t, nil)
	webtest.Serve(t, w.site(t), other)
	follow(t, other, "/v1/events?scope=zoo", "Last-Event-ID: 1").expect("3:acquired", "5:released")
}

// A watch that says nothing, or has broken, only makes it slower.
func TestStreamWithoutNotifications(t *testing.T) {
	w := newWorld()
	w.deaf = true
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	s := follow(t, ln, "/v1/events")
	w.add(1, "payments", "acquired")
	s.expect("1:acquired")
}

// What the watch has seen needs no look, which would find the newest alone.
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

// What was missed and is found again by the next look is told once.
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

// A burst between two looks is told whole.
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
		t.Errorf("told %s to %s", got[0], got[178])
	}
}

// More was missed than is sent again: the client is told so.
func TestStreamGap(t *testing.T) {
	w := newWorld()
	for id := int64(1); id <= 1100; id++ {
		w.add(id, "payments", "acquired")
	}
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	s := follow(t, ln, "/v1/events", "Last-Event-ID: 10")
	if got := []string{s.line(), s.line()}; !slices.Equal(got, []string{"event: gap", "data: {}"}) {
		t.Errorf("a gap is told of as %q", got)
	}
	if got := s.events(1024); got[0] != "77:acquired" {
		t.Errorf("resumed at %s", got[0])
	}
}

// A client that takes nothing is dropped, and the others do not wait for it.
func TestSlowStreamIsDropped(t *testing.T) {
	w := newWorld()
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	slow, quick := follow(t, ln, "/v1/events"), follow(t, ln, "/v1/events?scope=zoo")
	w.set(func() {
		// More than the buffers on the way can take.
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
		t.Errorf("the slow one got %d lines and ended with %v", n, slow.lines.Err())
	}
}

// Silence is broken by comments; the end is clean.
func TestStreamKeepAliveAndEnd(t *testing.T) {
	w := newWorld()
	w.cfg.KeepAlive = 5 * time.Millisecond
	ln := listen(t, nil)
	stop := webtest.Serve(t, w.site(t), ln)
	s := follow(t, ln, "/v1/events")
	for range 3 {
		if got := s.line(); got != ": alive" {
			t.Errorf("in the silence: %q", got)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	last := ""
	for l := s.line(); l != ""; l = s.line() {
		last = l
	}
	if last != ": ending" || s.lines.Err() != nil {
		t.Errorf("the last line is %q, then %v", last, s.lines.Err())
	}
}

// A client whose token is taken away hears no more.
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
		t.Errorf("it ended with %v", s.lines.Err())
	}
}

// There are so many streams and no more, and a place that is left is free again.
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
			t.Errorf("HEAD: %v", err)
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
		t.Errorf("the third stream: %d", code)
	}
	a.close()
	pgtest.Eventually(t, 10*time.Second, "a place to be free", func() bool { return ask() == 200 })
}
