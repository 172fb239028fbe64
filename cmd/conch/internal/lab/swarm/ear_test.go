//go:build unix

package swarm

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// office is a node's API as far as an ear needs it. Its first stream of each kind breaks after what it tells.
type office struct {
	mu    sync.Mutex
	tells map[string][]string // by the request: what each stream of it tells, one after another
	asked []string
}

func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	request := strings.TrimSpace(strings.Join([]string{r.Method, r.URL.RequestURI(), r.Header.Get("Last-Event-ID"), string(body)}, " "))
	o.mu.Lock()
	o.asked = append(o.asked, request)
	texts, known := o.tells[request]
	if len(texts) > 1 {
		o.tells[request] = texts[1:]
	}
	o.mu.Unlock()
	switch {
	case known && texts[0] == later:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case !known:
		w.WriteHeader(http.StatusNotFound)
		return
	case r.Method == http.MethodPut && r.Header.Get("Content-Type") != "application/octet-stream":
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	_, _ = io.WriteString(w, texts[0])
	if strings.Contains(request, "/v1/events") && strings.Contains(texts[0], "stays") {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// heard is a told as a text.
func heard(t told) string {
	switch {
	case t.view != nil:
		return fmt.Sprintf("names %q in %d", t.view.leader, t.view.reign)
	case t.heard != nil:
		return "hears " + *t.heard
	case t.piece != nil:
		return "tells " + *t.piece
	case t.peers != nil:
		return fmt.Sprintf("has %d", *t.peers)
	default:
		return "gap " + *t.gap
	}
}

func serve(t *testing.T, o *office) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), socketFile)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: o, ReadHeaderTimeout: answerMost}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	return socket
}

const (
	newsStream   = "GET /v1/events?gossip.news=default"
	leaderStream = "GET /v1/events?gossip.leader=default"
	nodes        = "GET /v1/nodes"
	stays        = ": stays\n\n"
	later        = "later"
)

func event(id int, kind, data string) string {
	return fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", id, kind, data)
}

func leaderEvent(id int, at, leader string, reign int) string {
	return event(id, leaderKind, fmt.Sprintf(`{"at":%q,"namespace":"default","leader":%s,"reign":%d}`, at, leader, reign))
}

// What is told is heard once and in order, also when streams break; what was told before the node was asked is left out.
func TestAnEar(t *testing.T) {
	t.Parallel()
	o := &office{tells: map[string][]string{
		newsStream:          {later, "retry: 2000\n\nid: 0\n\n" + event(1, newsKind, `{"topic":"one"}`)},
		newsStream + " 1":   {event(2, newsKind, `{"topic":"two"}`) + event(2, "gap", `{"of":"gossip.news"}`) + stays},
		leaderStream:        {leaderEvent(4, "2026-01-01T00:00:00Z", `"old"`, 1) + leaderEvent(5, "2026-01-01T00:00:02Z", `"n002"`, 3)},
		leaderStream + " 5": {leaderEvent(6, "2026-01-01T00:00:03Z", `null`, 3) + stays},
		nodes:               {`{"as_of":"2026-01-01T00:00:01Z","namespaces":[{"namespace":"other","leader":"x"},{"namespace":"default","leader":"n001","reign":2}],"neighbours":[{},{}]}`},
	}}
	all := make(chan told, 100)
	e := newEar(7, serve(t, o), func(one told) { all <- one })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan struct{})
	go func() { defer close(ended); e.listen(ctx) }()
	var leaders, news []string
	for len(leaders) < 4 || len(news) < 3 {
		select {
		case one := <-all:
			if text := heard(one); one.life != 7 {
				t.Errorf("%q is told of life %d", text, one.life)
			} else if strings.HasPrefix(text, "names") || strings.HasPrefix(text, "has") {
				leaders = append(leaders, text)
			} else {
				news = append(news, text)
			}
		case <-ended:
			t.Fatalf("it heard of leaders %q and news %q only, and asked %q", leaders, news, o.asked)
		}
	}
	if want := []string{"has 2", `names "n001" in 2`, `names "n002" in 3`, `names "" in 3`}; !slices.Equal(leaders, want) {
		t.Errorf("of leaders it heard %q, want %q", leaders, want)
	}
	if want := []string{"hears one", "hears two", `gap {"of":"gossip.news"}`}; !slices.Equal(news, want) {
		t.Errorf("of news it heard %q, want %q", news, want)
	}
	cancel()
	<-ended
	if len(all) > 0 {
		t.Errorf("%q was told beside that", heard(<-all))
	}
	if o.asked[0] != newsStream || o.asked[1] != newsStream {
		t.Errorf("it asked %q, want the news until they are told: it owes each piece from the moment when a leader is known", o.asked[:2])
	}
}

func TestAPieceIsTakenOrNot(t *testing.T) {
	t.Parallel()
	o := &office{tells: map[string][]string{"PUT /v1/nodes/default/news/news-1  from the demo": {`{}`}}}
	var all []string
	e := newEar(7, serve(t, o), func(one told) { all = append(all, heard(one)) })
	defer e.Client.CloseIdleConnections()
	if err := e.publish(t.Context(), "news-1"); err != nil {
		t.Error(err)
	}
	if err := e.publish(t.Context(), "news-2"); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v, want the refusal", err)
	}
	if want := []string{"tells news-1"}; !slices.Equal(all, want) {
		t.Errorf("got %q, want %q", all, want)
	}
}
