package gossip

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// listener reads a stream of events.
type listener struct {
	t     *testing.T
	lines *bufio.Scanner
	id    string // of the last event
}

func listenTo(t *testing.T, ln net.Listener, query, after string) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ln.Addr().String()+"/v1/events?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	answer, err := webtest.Client(t, &http.Transport{}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %d", query, answer.StatusCode)
	}
	return &listener{t: t, lines: bufio.NewScanner(answer.Body), id: after}
}

// next returns the next event; both are empty when the stream has ended.
func (l *listener) next() (event, data string) {
	l.t.Helper()
	pgtest.Within(l.t, 2*nodetest.Patience, "an event comes", func() {
		for l.lines.Scan() {
			switch name, value, _ := strings.Cut(l.lines.Text(), ": "); name {
			case "id":
				l.id = value
			case "event":
				event = value
			case "data":
				data = value
				return
			}
		}
		event = ""
	})
	return event, data
}

// F8, B7: a reader of gossip's events that does not read delays neither the agent, which tells them, nor other readers. Its stream is
// cut. When it comes back it gets what it missed, each event once; where that is no longer there it is told of a gap.
func TestASlowReader(t *testing.T) {
	t.Parallel()
	w, board := newWorld(), web.NewBoard()
	site := webtest.Site(t, w.logs, w.api.routes(), func(c *web.Config) {
		c.Board = board
		c.Board.Offer(kindLeader, w.api.selects)
		c.Board.Offer(kindNews, w.api.selects)
	})
	ln, err := web.Listen(t.Context(), "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	webtest.Serve(t, site, ln)
	tells := &teller{board: board, log: slog.New(slog.DiscardHandler), clock: time.Now, quiet: newQuiet(), twins: new(twins), ground: new(node.Ground), ends: func() bool { return false }}
	told := int64(0) // the age of a piece of news is its number
	news := func(n int) {
		t.Helper()
		pgtest.Within(t, nodetest.Patience, "the agent is not held up", func() {
			for range n {
				told++
				tells.tell(gossip.News{Namespace: "default", Topic: "t", Subject: node2, Body: make([]byte, 1<<10), Age: time.Duration(told) * time.Millisecond})
			}
			tells.tell(gossip.Leader{Namespace: "default", Leader: node2, Reign: uint64(told)})
		})
	}
	slow, quick := listenTo(t, ln, "gossip.news=default", ""), listenTo(t, ln, "gossip.leader=default", "")
	const all = 14_000 // more than the buffers of a connection and the queue of a stream have room for
	news(all)
	if event, _ := quick.next(); event != kindLeader {
		t.Errorf("a reader beside the slow one got %q", event)
	}
	streams := 1
	for got := int64(0); got < all; {
		event, data := slow.next()
		if event == "" {
			if streams++; streams > 50 {
				t.Fatalf("after %d streams it has %d of %d events", streams, got, all)
			}
			slow = listenTo(t, ln, "gossip.news=default", slow.id)
			continue
		}
		var e NewsEvent
		if got++; event != kindNews || json.Unmarshal([]byte(data), &e) != nil || e.AgeMS != got {
			t.Fatalf("event %d is %s %.100s", got, event, data)
		}
	}
	if streams < 2 {
		t.Error("the stream of the slow reader was not cut")
	}
	last := slow.id
	news(40_000)
	if event, data := listenTo(t, ln, "gossip.news=default", last).next(); event != "gap" || !strings.Contains(data, `"of":"gossip.news"`) {
		t.Errorf("after a long time away it is told %s %.100s, want a gap", event, data)
	}
	if event, _ := quick.next(); event != kindLeader {
		t.Errorf("a reader beside the slow one got %q", event)
	}
}

// While the listener for peers has failed this node hears nothing. It suggests nobody then, and says so: GET /v1/nodes answers 503, and a
// stream of events would name the last leader for as long as that lasts.
func TestEventsWhileTheListenerIsAway(t *testing.T) {
	t.Parallel()
	all, fronts := site(t, 2)
	_ = fronts[0].Close()
	h := host(t)
	ln, err := web.Listen(t.Context(), "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	webtest.Serve(t, webtest.Site(t, new(webtest.Log), h.Routes(), func(c *web.Config) { c.Board = h.frame.Board }), ln)
	if _, err := h.Prepare(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	reader, m := listenTo(t, ln, "gossip.leader=default", ""), h.now
	h.tells.tell(gossip.Leader{Namespace: "default", Leader: node2, Reign: 1})
	if event, data := reader.next(); event != kindLeader || !strings.Contains(data, `"leader":"n2"`) {
		t.Fatalf("the stream tells %s %s, want that n2 leads", event, data)
	}
	_ = m.close() // so that it cannot run any more, as one whose listener has failed
	h.kept = true
	h.busy.Go(func() {
		defer close(h.over)
		h.takePart(m)
	})
	if event, data := reader.next(); event != kindLeader || !strings.Contains(data, `"leader":null`) {
		t.Errorf("the stream tells %s %s, want that nobody is known", event, data)
	}
}
