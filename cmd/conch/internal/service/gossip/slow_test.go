package gossip

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/transport/mtls"
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

// clock is a second of 1970 as people are told it.
func clock(second int64) string { return cli.Clock(time.Unix(second, 0)) }

// B7, B21: people see who is suggested, since when, when it was heard last, and how often it has changed.
func TestStatusForPeople(t *testing.T) {
	t.Parallel()
	n := nodesOf(new(fakeMember), new(world).Twins(), time.Unix(90, 0))
	rows := rowsOf(n)
	want := []string{"default\tn2\t4\tfollowing\t", "\t120ms ago\t2\tn1, " + key3}
	if len(rows) != 2 || !strings.HasPrefix(rows[0], want[0]) || !strings.HasSuffix(rows[0], want[1]) {
		t.Errorf("got the rows %q", rows)
	}
	if rows[1] != "empty\tnobody is known\t0\tstanding back for 3s more\t-\t-\t0\tall" {
		t.Errorf("got the row %q", rows[1])
	}
	lines := linesOf(n)
	if want := []string{
		"n1 has 1 neighbour: n2",
		"n2 has other electors, round in [gossip] than n1",
		"  → correct one of both",
		"two hosts have the key or the name of n9, and one of them is not heard (last seen " + clock(4) + ")",
		"  → give each an identity of its own",
		"two hosts had the key or the name of n8 until " + clock(3) + ": one of them has gone since",
		`news of n2 under default/flag, 40ms ago: "blue"`,
		"refused since the start: signature 3",
		"This is a hint: another node may name another leader for a while.",
	}; !slices.Equal(lines, want) {
		t.Errorf("got the lines\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	for _, c := range []struct {
		change func(*Nodes)
		says   string
	}{
		{func(n *Nodes) { n.Neighbours = nil }, "n1 has no neighbour yet: it tries to join"},
		{func(n *Nodes) { n.Neighbours, n.Overlay.Joining = nil, false }, "n1 has no neighbour"},
		{func(n *Nodes) {
			n.Namespaces[0].MajorityLost, n.Namespaces[0].ElectorsSilent = new(time.Unix(7, 0)), []string{"n3"}
		},
			"n1 hears 1 of the 2 electors of default, itself counted, and a new leader needs 2: no majority since " + clock(7) + "; silent: n3\n  → start those nodes"},
		{func(n *Nodes) {
			n.Namespaces[0].Leader, n.Namespaces[0].State, n.Namespaces[0].UnledSince = nil, "bystander", new(time.Unix(7, 0))
		}, "n1 hears no leader of default since " + clock(7) + ", and is none of the electors"},
		{func(n *Nodes) { n.Unreached[0].Why = string(mtls.RefusedUs) }, "n3 refuses this node since " + clock(5) + ": most likely they do not expect the key"},
		{func(n *Nodes) {
			n.Neighbours, n.Unreached = nil, append(n.Unreached, Unreached{Name: "n2", Why: string(mtls.RefusedUs)})
		}, "n1 has no neighbour, since no contact lets it in: n3 does not answer; n2 refuses this node\n  → start a node that does not answer, and open its port for this one; a contact that refuses"},
		{func(n *Nodes) {
			n.Neighbours, n.Contacts, n.Unreached[0].Why = nil, []string{"n3"}, string(mtls.Expired)
		}, "n3 shows a certificate that has ended, or that of its CA has\n  → renew a certificate that has ended on its own node, or correct the clock here"},
		{func(n *Nodes) {
			n.Neighbours, n.Contacts, n.Unreached[0].Why = nil, []string{"n3"}, string(mtls.WrongKey)
		}, "\n  → compare the key or CA of a contact in [[peers]]"},
		{func(n *Nodes) { n.Neighbours = nil }, "n1 has no neighbour yet: n3 does not answer"},
		{func(n *Nodes) { n.News[0].AgeMS = 61234 }, "1m1.2s ago"},
		{func(n *Nodes) { n.News[0].Body = []byte("\x1b[2J" + strings.Repeat("é", 100)) }, `"\x1b[2Jéé`},
		{func(n *Nodes) { n.Namespaces[0].LeaderProven = false }, "n2 (its own word)"},
		{func(n *Nodes) { n.News[0].SubjectProven = false }, "news of n2 (its own word) under"},
		{func(n *Nodes) { n.News[0].Topic = "\x1b[31ma\u202eb\nnews of n3" }, `default/"\x1b[31ma\u202eb\nnews of n3", 40ms`},
		{func(n *Nodes) { n.News[0].Subject = "n2\x1b[31m" }, `news of "n2\x1b[31m" under`},
		{func(n *Nodes) { n.Namespaces[0].Leader = new("n2\t\x1b[2J") }, `default` + "\t" + `"n2\t\x1b[2J"` + "\t4"},
		{func(n *Nodes) { n.Namespaces[0].Leads = true }, "default\tn2\t4\tfollowing\t"},
	} {
		n := nodesOf(new(fakeMember), new(world).Twins(), time.Unix(90, 0))
		c.change(&n)
		if text := strings.Join(append(rowsOf(n), linesOf(n)...), "\n"); !strings.Contains(text, c.says) || strings.Contains(text, "\x1b") {
			t.Errorf("got %q, want %q in it", text, c.says)
		}
	}
}

// B21: changes of the leader and its tenure are exported for each namespace; while the listener is away each is there, and 0. Without
// [gossip] there is nothing.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld()
	c := &collector{w}
	if err := testutil.CollectAndCompare(c, strings.NewReader(`
# HELP conch_gossip_leader_changes_total Times that this node began to suggest another leader, or the same one in another reign.
# TYPE conch_gossip_leader_changes_total counter
conch_gossip_leader_changes_total{namespace="default"} 2
conch_gossip_leader_changes_total{namespace="empty"} 0
# HELP conch_gossip_leader_tenure_seconds For how long this node has suggested the leader that it suggests now, 0 while it suggests none.
# TYPE conch_gossip_leader_tenure_seconds gauge
conch_gossip_leader_tenure_seconds{namespace="default"} 90
conch_gossip_leader_tenure_seconds{namespace="empty"} 0
# HELP conch_gossip_neighbours Nodes of the overlay to which this one has a connection.
# TYPE conch_gossip_neighbours gauge
conch_gossip_neighbours 1
# HELP conch_gossip_neighbours_differing Neighbours whose [gossip] has another value where all nodes have to have the same.
# TYPE conch_gossip_neighbours_differing gauge
conch_gossip_neighbours_differing 1
# HELP conch_gossip_twins Nodes of which two hosts have the key or the name, as this node has seen it in the last two minutes.
# TYPE conch_gossip_twins gauge
conch_gossip_twins 1
# HELP conch_gossip_bytes_total Bytes of the overlay's messages, before encryption.
# TYPE conch_gossip_bytes_total counter
conch_gossip_bytes_total{direction="received"} 8
conch_gossip_bytes_total{direction="sent"} 7
# HELP conch_gossip_messages_lost_total Messages of the overlay that were not sent or not read. Exchanges repair it.
# TYPE conch_gossip_messages_lost_total counter
conch_gossip_messages_lost_total{why="dropped"} 4
conch_gossip_messages_lost_total{why="undated"} 5
conch_gossip_messages_lost_total{why="unsent"} 3
`), "conch_gossip_leader_changes_total", "conch_gossip_leader_tenure_seconds", "conch_gossip_neighbours", "conch_gossip_neighbours_differing", "conch_gossip_twins", "conch_gossip_bytes_total", "conch_gossip_messages_lost_total"); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.CollectAndLint(c); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	all := testutil.CollectAndCount(c)
	w.down = true
	if err := testutil.CollectAndCompare(c, strings.NewReader(`
# HELP conch_gossip_leader_changes_total Times that this node began to suggest another leader, or the same one in another reign.
# TYPE conch_gossip_leader_changes_total counter
conch_gossip_leader_changes_total{namespace="default"} 0
conch_gossip_leader_changes_total{namespace="empty"} 0
# HELP conch_gossip_leads 1 while this node is the suggested leader, as it sees it itself. A hint: others may see another one.
# TYPE conch_gossip_leads gauge
conch_gossip_leads{namespace="default"} 0
conch_gossip_leads{namespace="empty"} 0
# HELP conch_gossip_neighbours Nodes of the overlay to which this one has a connection.
# TYPE conch_gossip_neighbours gauge
conch_gossip_neighbours 0
# HELP conch_gossip_twins Nodes of which two hosts have the key or the name, as this node has seen it in the last two minutes.
# TYPE conch_gossip_twins gauge
conch_gossip_twins 1
`), "conch_gossip_leader_changes_total", "conch_gossip_leads", "conch_gossip_neighbours", "conch_gossip_twins"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(c); n != all {
		t.Errorf("%d metrics while the listener is away, want %d", n, all)
	}
	w.none = true
	if n := testutil.CollectAndCount(c); n != 0 {
		t.Errorf("%d metrics of nothing", n)
	}
}
