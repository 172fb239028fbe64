package logs

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum"
)

// Nobody is believed how a log began while the others say different things, unless the configuration names the right one.
func TestWhomANodeBelieves(t *testing.T) {
	t.Parallel()
	genesis := func(namespace string, nonce byte) txlog.Genesis {
		g := txlog.Genesis{Namespace: namespace, Machine: kv.Machine, Members: []txlog.Member{{Name: "n1", Store: 1}}, Nonce: txlog.Hash{nonce}}
		return g.With()
	}
	now := time.Now()
	one, two, other := genesis("flags", 1), genesis("flags", 2), genesis("routes", 1)
	for _, c := range []struct {
		name string
		id   txlog.ID
		said map[string]word
		want txlog.ID
		why  string
	}{
		{"nobody says anything", txlog.ID{}, nil, txlog.ID{}, ""},
		{"all say the same", txlog.ID{}, map[string]word{"n1": {one, now}, "n2": {one, now}}, one.ID(), ""},
		{"two things are said", txlog.ID{}, map[string]word{"n1": {one, now}, "n2": {two, now}}, txlog.ID{}, "put the id of the right one into [[logs]]"},
		{"one is named", two.ID(), map[string]word{"n1": {one, now}, "n2": {two, now}}, two.ID(), ""},
		{"none of them is named", txlog.ID{9}, map[string]word{"n1": {one, now}}, txlog.ID{}, "the configuration says"},
		{"of another name", txlog.ID{}, map[string]word{"n1": {other, now}}, txlog.ID{}, `"routes" there`},
		{"another one said something else, and is gone", txlog.ID{}, map[string]word{"n1": {two, now.Add(-wordLasts - 1)}, "n2": {one, now}}, one.ID(), ""},
		{"beside one of another name", txlog.ID{}, map[string]word{"n1": {other, now}, "n2": {one, now}}, one.ID(), ""},
	} {
		r := &part{Log: Log{Namespace: "flags", ID: c.id}, known: c.said}
		g, some, err := r.judge(now)
		got := txlog.ID{}
		if some && err == nil {
			got = g.ID()
		}
		if got != c.want || (c.why == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: it believes %s, %v; want %s, %q", c.name, got.Short(), err, c.want.Short(), c.why)
		}
	}
}

// One node makes a log at a time: another one that wants to is told who does.
func TestAStoreIsPromisedToOne(t *testing.T) {
	t.Parallel()
	r := &part{Log: Log{Namespace: "flags"}}
	if err := r.give("n1"); err != nil {
		t.Fatal(err)
	}
	if err := r.give("n1"); err != nil {
		t.Errorf("asked again: %v", err)
	}
	if err := r.give("n2"); err == nil || !strings.Contains(err.Error(), "n1 makes a log") {
		t.Errorf("got %v", err)
	}
	g := txlog.Genesis{Namespace: "flags", Machine: kv.Machine, Members: []txlog.Member{{Name: "n1", Store: 1}}}.With()
	r.begin = make(chan txlog.Genesis, 1)
	if _, why := r.begins("n2", g); !strings.Contains(why, "drawn no store") || len(r.begin) != 0 {
		t.Errorf("n2 has it begin: %q", why)
	}
	if _, why := r.begins("n1", g); why != "it has not begun yet" || len(r.begin) != 1 {
		t.Errorf("n1 has it not begin: %q", why)
	}
	r.believe(g)
	if _, why := r.begins("n2", g); why != "" {
		t.Errorf("it has begun, and says %q", why)
	}
	other := g
	other.Nonce = txlog.Hash{7}
	if log, why := r.begins("n1", other); log != g.ID() || !strings.Contains(why, "another log of that name") {
		t.Errorf("another genesis: %q", why)
	}
}

// A log is made with the members that were named, once, and a name that nobody has is refused before anybody is asked.
func TestMembersOfALog(t *testing.T) {
	t.Parallel()
	r := &part{Log: Log{Namespace: "flags", Peers: []string{"n2", "n3"}}, self: "n1", neighbours: []string{"n2", "n4"}}
	for _, c := range []struct {
		names []string
		fits  bool
	}{
		{[]string{"n1"}, true},
		{[]string{"n1", "n2"}, true},
		{nil, false},
		{[]string{"n1", "n1"}, false},
		{[]string{"n1", "n3"}, false}, // no peer
		{[]string{"n1", "n4"}, false}, // not admitted
		{strings.Split("abcdefghij", ""), false},
	} {
		if err := r.able(c.names, "this node"); (err == nil) != c.fits || err != nil && !errors.Is(err, txlog.ErrMembers) {
			t.Errorf("%q: %v", c.names, err)
		}
	}
	if even(3) != "" || even(4) == "" {
		t.Error("an even number is not warned of, or an odd one is")
	}
}

// B21: a known log exports 0, not nothing; what another node has sent is counted by why.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1")
	n := s.nodes["n1"].start()
	c := &collector{n.svc, n.svc.denied}
	if err := testutil.CollectAndCompare(c, strings.NewReader(`
# HELP conch_log_goal_result_timeouts_total Times that a goal had no answer within goal_timeout (15 seconds), and was tried again.
# TYPE conch_log_goal_result_timeouts_total counter
conch_log_goal_result_timeouts_total{namespace="flags"} 0
# HELP conch_log_history_requests_total Times that this node asked another one for entries that it lacked.
# TYPE conch_log_history_requests_total counter
conch_log_history_requests_total{namespace="flags"} 0
# HELP conch_log_pending_goals Goals of this node's users that wait for their result.
# TYPE conch_log_pending_goals gauge
conch_log_pending_goals{namespace="flags"} 0
# HELP conch_log_forks_total Times that two signed heads of the log contradicted each other.
# TYPE conch_log_forks_total counter
conch_log_forks_total{namespace="flags"} 0
`), "conch_log_goal_result_timeouts_total", "conch_log_history_requests_total", "conch_log_pending_goals", "conch_log_forks_total"); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.CollectAndLint(c); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	p := n.svc.Parts()[0]
	p.heard(quorum.TimedOut{GoalID: "a"})
	p.heard(quorum.Forked{})
	p.heard(quorum.Refused{From: "n2", Reason: "bridge", Why: errors.New("the bridge proves nothing")})
	p.heard(quorum.Refused{From: "n2", Reason: "other", Why: errors.New("what nobody expects")})
	if p.counts.timeouts != 1 || p.counts.forks != 1 || p.counts.refused["bridge"] != 1 || p.counts.refused["other"] != 1 {
		t.Errorf("got %+v", p.counts)
	}
	for i, of := range []struct{ now, want uint64 }{{3, 3}, {5, 5}, {2, 7}, {0, 7}, {4, 11}} { // a host counts from 0 again
		if got := p.counts.history(of.now); got != of.want {
			t.Errorf("reading %d: %d requests, want %d", i, got, of.want)
		}
	}
}

// Goals and results are shown as the JSON that they are; other bytes are no lie.
func TestBytesAreShown(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`{"a":1}`: `{"a":1}`, "\xff": `{"base64":"/w=="}`, "": `{"base64":""}`, "7": "7"} {
		if got, err := json.Marshal(Bytes(in)); err != nil || string(got) != want {
			t.Errorf("%q is shown as %s, %v; want %s", in, got, err, want)
		}
	}
}
