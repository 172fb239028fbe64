package gossip

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/transport/mtls"
)

const (
	key1 = "sha256:0100000000000000000000000000000000000000000000000000000000000000"
	key2 = "sha256:0200000000000000000000000000000000000000000000000000000000000000"
	key3 = "sha256:0300000000000000000000000000000000000000000000000000000000000000"
)

var (
	node1 = gossip.Node{Subject: gossip.Subject{1}, Name: "n1", Proven: true, Address: "10.0.0.1:7443"}
	node2 = gossip.Node{Subject: gossip.Subject{2}, Name: "n2", Proven: true}
	node3 = gossip.Node{Subject: gossip.Subject{3}}
)

// fakeMember is n1, which follows n2.
type fakeMember struct {
	err       error
	policy    string // of default, if it is not reign
	published []string
	withdrawn []string
}

func (f *fakeMember) Status() gossip.Status {
	return gossip.Status{
		Self: node1, Arcs: 5, Joining: true, Remembered: []string{"n7", "n8"},
		Hints: []gossip.Hint{
			{
				Namespace: "default", Policy: cmp.Or(f.policy, "reign"), Leader: node2, Reign: 4, Since: time.Unix(1, 0), Tenure: 90 * time.Second, State: "following",
				Heard: 120 * time.Millisecond, Valid: 800 * time.Millisecond, Changes: 2, Electors: []gossip.Node{node1, node3},
			},
			{Namespace: "empty", Policy: "reign", State: "standing back", Back: 3 * time.Second, Heard: -1, Valid: 8 * time.Second},
		},
		Neighbours: []gossip.Neighbour{{Node: node2, Arcs: 2, Elector: true, Since: time.Unix(2, 0)}},
		News:       []gossip.News{{Namespace: "default", Topic: "flag", Subject: node2, Body: []byte("blue"), Age: 40 * time.Millisecond}},
		Counts:     gossip.Counts{Refused: map[string]uint64{"signature": 3, "flood": 0}, BytesSent: 7, BytesReceived: 8, MessagesSent: 1, MessagesReceived: 2, Unsent: 3, Dropped: 4, Undated: 5},
	}
}

func (f *fakeMember) Publish(namespace, topic string, body []byte) error {
	f.published = append(f.published, fmt.Sprint(namespace, " ", topic, " ", string(body)))
	return f.err
}

func (f *fakeMember) StandBack(namespace string, why error) {
	f.withdrawn = append(f.withdrawn, namespace+": "+why.Error())
}

func (*fakeMember) Differs(peer string) []string {
	return map[string][]string{"n2": {"electors", "round"}}[peer]
}

func (*fakeMember) Contacts() []string { return []string{"n2", "n3"} }

func (*fakeMember) Unreached() []Unreached {
	return []Unreached{{"n3", string(mtls.Unreachable), time.Unix(5, 0).UTC()}}
}

func (*fakeMember) Strangers() map[mtls.Reason]uint64 {
	return map[mtls.Reason]uint64{mtls.UnknownKey: 6}
}

// world is an API over a fake member.
type world struct {
	member *fakeMember
	none   bool // there is no [gossip]
	down   bool
	logs   *webtest.Log
	api    *api
}

func (w *world) Member() (running, bool) {
	if w.none || w.down {
		return nil, !w.none
	}
	return w.member, true
}

func (*world) Namespaces() []string { return []string{"default", "empty"} }

func (*world) Twins() []Twin {
	return []Twin{{"n8", time.Unix(3, 0).UTC(), true}, {"n9", time.Unix(4, 0).UTC(), false}}
}

func newWorld() *world {
	w := &world{member: &fakeMember{}, logs: &webtest.Log{}}
	w.api = &api{w, slog.New(slog.NewTextHandler(w.logs, nil))}
	return w
}

func (w *world) handler(t testing.TB) http.Handler {
	t.Helper()
	return webtest.Site(t, w.logs, w.api.routes(), func(c *web.Config) {
		c.Board = web.NewBoard()
		c.Board.Offer(kindLeader, w.api.selects)
		c.Board.Offer(kindNews, w.api.selects)
	}).API()
}

type exchange = webtest.Exchange[*world]

func none(w *world)  { w.none = true }
func away(w *world)  { w.down = true }
func votes(w *world) { w.member.policy = policyPaper }

func fails(err error) func(*world) { return func(w *world) { w.member.err = err } }

// Each route gives every answer that is documented, and no other (B7).
func TestAnswers(t *testing.T) {
	ours := func(operation string) bool { return strings.Contains(operation, pathNodes) }
	webtest.Answers(t, webtest.Read(t, openAPI), answers(), ours, newWorld, func(t *testing.T, w *world) http.Handler { return w.handler(t) })
}

func answers() []exchange {
	const (
		all = `{"self":"n1","fingerprint":"` + key1 + `","address":"10.0.0.1:7443","namespaces":[` +
			`{"namespace":"default","policy":"reign","leader":"n2","leader_fingerprint":"` + key2 + `","leader_proven":true,"reign":4,"since":"1970-01-01T00:00:01Z","leads":false,"state":"following","heard_ms":120,"valid_ms":800,"changes":2,"electors":["n1","` + key3 + `"]},` +
			`{"namespace":"empty","policy":"reign","leader":null,"leader_fingerprint":null,"leader_proven":false,"reign":0,"since":null,"leads":false,"state":"standing back","back_ms":3000,"heard_ms":null,"valid_ms":8000,"changes":0,"electors":[]}],` +
			`"neighbours":[{"name":"n2","fingerprint":"` + key2 + `","arcs":2,"elector":true,"differs":["electors","round"],"since":"1970-01-01T00:00:02Z"}],"overlay":{"arcs":5,"joining":true,"remembered":2},` +
			`"news":[{"namespace":"default","topic":"flag","subject":"n2","subject_proven":true,"fingerprint":"` + key2 + `","body":"Ymx1ZQ==","age_ms":40}],"contacts":["n2","n3"],"unreached":[{"name":"n3","why":"unreachable","since":"1970-01-01T00:00:05Z"}],"twins":[{"name":"n8","last_seen":"1970-01-01T00:00:03Z","over":true},{"name":"n9","last_seen":"1970-01-01T00:00:04Z","over":false}],"refused":{"signature":3},"troubles":[{"detail":"n2 has other electors, round in [gossip] than n1","remedy":"correct one of both","grave":false},` +
			`{"detail":"two hosts have the key or the name of n9, and one of them is not heard (last seen 1970-01-01 00:00:04 UTC)","remedy":"give each an identity of its own","grave":false}]}`
		back = "POST /v1/nodes/default/withdraw"
		news = "PUT /v1/nodes/default/news/flag"
		raw  = "Content-Type: application/octet-stream"
	)
	return []exchange{
		{Name: "all", Ask: "GET /v1/nodes", Status: 200, Want: all},
		{Name: "without gossip", Given: none, Ask: "GET /v1/nodes", Status: 404, Want: "no-gossip"},
		{Name: "while it begins again", Given: away, Ask: "GET /v1/nodes", Status: 503, Want: "gossip-down", Sends: "Retry-After: 1"},
		{Name: "withdrawn", Ask: back, Body: `{"why":"the disk is full"}`, Status: 202, Want: `{"why":"the disk is full"}`},
		{Name: "by policy paper", Given: votes, Ask: back, Body: `{"why":"x"}`, Status: 409, Want: "no-withdrawal"},
		{Name: "no JSON", Ask: back, Body: `{`, Status: 400, Want: "not what is documented"},
		{Name: "plain text", Ask: back, Body: "full", Header: "Content-Type: text/plain", Status: 415},
		{Name: "without a reason", Ask: back, Body: `{}`, Status: 422, Want: `"field":"why"`},
		{Name: "of another namespace", Ask: "POST /v1/nodes/other/withdraw", Body: `{"why":"x"}`, Status: 404, Want: "it has default, empty"},
		{Name: "without gossip", Given: none, Ask: back, Body: `{"why":"x"}`, Status: 404, Want: "no-gossip"},
		{Name: "while it begins again", Given: away, Ask: back, Body: `{"why":"x"}`, Status: 503, Want: "gossip-down"},
		{Name: "told", Ask: news, Body: "blue", Header: raw, Status: 202, Want: `{"namespace":"default","topic":"flag","bytes":4}`},
		{Name: "nothing, which is something", Ask: news, Status: 202, Want: `"bytes":0`},
		{Name: "the most", Ask: news, Body: strings.Repeat("x", 1024), Header: raw, Status: 202, Want: `"bytes":1024`},
		{Name: "too much", Ask: news, Body: strings.Repeat("x", 1025), Header: raw, Status: 413, Want: "1024 bytes"},
		{Name: "under a long topic", Ask: "PUT /v1/nodes/default/news/" + strings.Repeat("t", 65), Status: 422, Want: `"field":"topic"`},
		{Name: "under the topic of a log", Ask: "PUT /v1/nodes/default/news/log%2Fflags", Body: "x", Header: raw, Status: 422, Want: "as those of logs do"},
		{Name: "under too many topics", Given: fails(fmt.Errorf("x: %w", gossip.ErrTopics)), Ask: news, Status: 409, Want: "too-many-topics"},
		{Name: "under a topic that is no text", Given: fails(errors.New("a topic is no text")), Ask: news, Status: 422, Want: `"field":"topic"`},
		{Name: "of another namespace", Ask: "PUT /v1/nodes/other/news/flag", Status: 404, Want: "unknown-namespace"},
		{Name: "without gossip", Given: none, Ask: news, Status: 404, Want: "no-gossip"},
		{Name: "at its end", Given: fails(gossip.ErrStopped), Ask: news, Status: 503, Want: "gossip-down"},
	}
}

// What is asked for over HTTP reaches the agent as it was said.
func TestWhatIsAskedReachesTheAgent(t *testing.T) {
	t.Parallel()
	w := newWorld()
	handler := w.handler(t)
	for _, x := range []exchange{
		{Ask: "PUT /v1/nodes/empty/news/a%2Fb", Body: "\x00\xff"},
		{Ask: "POST /v1/nodes/default/withdraw", Body: `{"why":"no disk"}`},
	} {
		out := httptest.NewRecorder()
		handler.ServeHTTP(out, x.Request())
		if out.Code != http.StatusAccepted {
			t.Errorf("%s: %d %s", x.Ask, out.Code, out.Body)
		}
	}
	if got := fmt.Sprintf("%q %q", w.member.published, w.member.withdrawn); got != `["empty a/b \x00\xff"] ["default: no disk"]` {
		t.Errorf("the agent was asked for %s", got)
	}
}

// Events are as documented, and a stream is of a namespace that there is.
func TestEvents(t *testing.T) {
	t.Parallel()
	doc := webtest.Read(t, openAPI)
	at := time.Unix(5, 0)
	for _, c := range []struct {
		schema string
		event  any
		want   string
	}{
		{
			"LeaderEvent", leaderEventOf(gossip.Leader{Namespace: "default", Leader: node2, Reign: 4, Before: node3, Lasted: time.Second}, at),
			`{"at":"1970-01-01T00:00:05Z","namespace":"default","leader":"n2","leader_fingerprint":"` + key2 + `","leader_proven":true,"reign":4,"leads":false,"before":"` + key3 + `","lasted_ms":1000}`,
		},
		{
			"LeaderEvent", leaderEventOf(gossip.Leader{Namespace: "default", Self: true}, at),
			`{"at":"1970-01-01T00:00:05Z","namespace":"default","leader":null,"leader_fingerprint":null,"leader_proven":false,"reign":0,"leads":true,"before":null,"lasted_ms":0}`,
		},
		{
			"NewsEvent", NewsEvent{at.UTC(), Item{"default", "flag", "n2", true, key2, []byte("blue"), 40}},
			`{"at":"1970-01-01T00:00:05Z","namespace":"default","topic":"flag","subject":"n2","subject_proven":true,"fingerprint":"` + key2 + `","body":"Ymx1ZQ==","age_ms":40}`,
		},
	} {
		data, err := json.Marshal(c.event)
		if err != nil || string(data) != c.want {
			t.Errorf("got %s, %v, want %s", data, err, c.want)
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		for _, f := range doc.Faults(c.schema, doc.At(doc.Root(), "components", "schemas", c.schema), v) {
			t.Error(f)
		}
	}
	for _, x := range []exchange{
		{Name: "of another namespace", Ask: "GET /v1/events?gossip.leader=other", Status: 404, Want: "unknown-namespace"},
		{Name: "without gossip", Given: none, Ask: "GET /v1/events?gossip.news=default", Status: 404, Want: "no-gossip"},
	} {
		webtest.Answers(t, doc, []exchange{x}, func(string) bool { return false }, newWorld, func(t *testing.T, w *world) http.Handler { return w.handler(t) })
	}
	w := newWorld()
	if namespace, err := w.api.selects("empty"); namespace != "empty" || err != nil {
		t.Errorf("the namespace is %q, %v", namespace, err)
	}
	if away(w); w.api.knows("default") != nil {
		t.Error("a stream ends while the listener begins again")
	}
	if _, err := w.api.selects("default"); err != nil {
		t.Errorf("while the listener begins again no stream is opened: %v", err)
	}
}

// telling is a member with another status.
type telling struct {
	*fakeMember

	status gossip.Status
}

func (t telling) Status() gossip.Status { return t.status }

// Gossip brings the heads of logs to nodes that have no log: their users are not told of them.
func TestHeadsOfLogsAreNoNews(t *testing.T) {
	t.Parallel()
	tells := &teller{ground: new(node.Ground), first: "default"}
	status := new(fakeMember).Status()
	shown := len(status.News)
	for topic, passes := range map[string]bool{"log/flags": true, "log": false, "catalogue": false} {
		if tells.passes(gossip.News{Namespace: "default", Topic: topic}) != passes {
			t.Errorf("news under %q: want told elsewhere: %t", topic, passes)
		}
		if status.News = append(status.News, gossip.News{Namespace: "default", Topic: topic}); !passes {
			shown++
		}
	}
	if n := nodesOf(telling{new(fakeMember), status}, nil, time.Unix(9, 0)); len(n.News) != shown {
		t.Errorf("%d pieces of news are shown, want %d", len(n.News), shown)
	}
}

// A peer that goes on to send what is refused is named once in a while, and what happens is told in few words.
func TestTheLogIsShort(t *testing.T) {
	t.Parallel()
	logs, now := &webtest.Log{}, time.Unix(0, 0)
	tells := &teller{board: web.NewBoard(), log: slog.New(slog.NewTextHandler(logs, nil)), clock: func() time.Time { return now }, quiet: newQuiet(), twins: new(twins), ground: new(node.Ground), ends: func() bool { return strings.Contains(logs.String(), "events=3") }}
	one := errors.New("its subject has not signed it")
	for range 100 {
		tells.tell(gossip.Refused{From: "n2", Subject: node3, Why: one})
		tells.tell(gossip.Refused{From: "n3", Subject: node3, Why: one})
	}
	if n := strings.Count(logs.String(), "is refused"); n != 2 {
		t.Errorf("two peers are named in %d lines", n)
	}
	now = now.Add(quietFor)
	tells.tell(gossip.Refused{From: "n2", Why: one})
	for i := range 10 * mostQuiet {
		tells.tell(gossip.Refused{From: fmt.Sprint("n", i+4), Why: one})
	}
	if n := strings.Count(logs.String(), "peer=n2 "); n != 2 || len(tells.quiet.refusals) > mostQuiet {
		t.Errorf("after ten minutes n2 is named in %d lines, and %d are remembered", n, len(tells.quiet.refusals))
	}
	tells.tell(gossip.Refused{Subject: node1, Why: errors.New("no reign is left in this namespace"), Reason: "last-reign"})
	tells.tell(gossip.SteppedDown{Namespace: "default", Reign: 4, Why: errors.New("it does not hear the others"), For: time.Second})
	tells.tell(gossip.Twin{Subject: node2, Hosts: [2]string{"a", "b"}})
	tells.tell(gossip.Missed{Events: 3})
	tells.tell(gossip.SteppedDown{Namespace: "at the end", Why: errors.New("its user has withdrawn it")})
	if strings.Contains(logs.String(), "at the end") {
		t.Error("that the end of the node withdraws it is told as if its user had done so")
	}
	for _, part := range []string{"it does not hear the others", "one=a other=b", "events=3", "this node cannot lead\" why=\"no reign is left"} {
		if !strings.Contains(logs.String(), part) {
			t.Errorf("the log does not say %q", part)
		}
	}
}

// A member that lies can make an error's text what it likes, and keys as many as it likes. Neither fills the log, nor does a
// leader that changes without end.
func TestALiarDoesNotFillTheLog(t *testing.T) {
	t.Parallel()
	logs, now := &webtest.Log{}, time.Unix(0, 0)
	tells := &teller{board: web.NewBoard(), log: slog.New(slog.NewTextHandler(logs, nil)), clock: func() time.Time { return now }, quiet: newQuiet(), twins: new(twins), ground: new(node.Ground), ends: func() bool { return false }}
	one := errors.New("a statement has an impossible age")
	for i := range 10_000 {
		tells.tell(gossip.Refused{From: "n2", Why: fmt.Errorf("the reign is too high: %d", i), Reason: "reign"})
		tells.tell(gossip.Refused{From: fmt.Sprint("n", 3+i%(2*mostQuiet)), Why: one, Reason: "age"})
		tells.tell(gossip.Twin{Subject: gossip.Node{Subject: gossip.Subject{byte(i), byte(i >> 8), 1}}, Hosts: [2]string{"a", "b"}})
		tells.tell(gossip.Leader{Namespace: "default", Leader: node2, Reign: uint64(i)})
		now = now.Add(time.Millisecond)
	}
	tells.tell(gossip.Leader{Namespace: "empty", Leader: node3, Reign: 1})
	if n := strings.Count(logs.String(), "peer=n2 "); n != 1 {
		t.Errorf("n2 is named in %d lines", n)
	}
	if n := strings.Count(logs.String(), "is refused"); n > mostQuiet {
		t.Errorf("peers are named in %d lines", n)
	}
	if n := strings.Count(logs.String(), "two hosts have one key"); n == 0 || n > mostQuiet {
		t.Errorf("twins are named in %d lines", n)
	}
	if n := strings.Count(logs.String(), "another leader is suggested"); n != mostChanges+1 || !strings.Contains(logs.String(), "namespace=empty") {
		t.Errorf("changes of the leader are told in %d lines, want %d and one of another namespace", n, mostChanges)
	}
	now = now.Add(changesEach)
	tells.tell(gossip.Leader{Namespace: "default", Leader: node2, Reign: 1 << 20})
	if want := fmt.Sprint("untold=", 10_000-mostChanges); !strings.Contains(logs.String(), want) || !strings.Contains(logs.String(), "reign=1048576") {
		t.Errorf("the log does not say how many changes were not told (%s), or nothing of the next one", want)
	}
}

// A token that may only read changes nothing.
func TestWhoMayTell(t *testing.T) {
	t.Parallel()
	for _, r := range (&api{}).routes() {
		if want := r.Method != http.MethodGet; (r.Needs == web.ToOperate) != want {
			t.Errorf("%s %s needs an operating token: %t, want %t", r.Method, r.Path, !want, want)
		}
	}
}
