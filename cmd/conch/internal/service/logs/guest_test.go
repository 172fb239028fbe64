package logs

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/founding"
	"github.com/conchhq/conch/txlog/kv"
)

// A guest is connected, since the CA has signed its certificate, and is none of the [[peers]]. It may follow a log, and decides nothing: it
// makes none, its attempt is in nobody's way, and it changes no members. Its goals are taken, as those of any node.
func TestAGuestDecidesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3", "g1")
	s.guest = "g1"
	s.start(s.names...)
	guest := s.nodes["g1"]
	if code, text := guest.asks(http.MethodPost, "/v1/logs", `{"namespace":"flags","members":["n1","n2","n3"]}`); code != http.StatusServiceUnavailable || !strings.Contains(text, "member-away") {
		t.Errorf("a guest makes a log: %d %s", code, text)
	}
	made := s.nodes["n1"].create("n1", "n2", "n3")
	pgtest.Eventually(t, 2*nodetest.Patience, "the guest follows", func() bool { now := guest.status(); return now.ID == made.ID && now.State == stateRunning })
	before := s.nodes["n2"].put("a", 1)
	s.equal(s.names...)
	if read := gets[Read](guest, http.MethodGet, `/v1/logs/flags/state?fresh=1&query={"get":"a"}`, ""); read.AsOf.Index < before.Index {
		t.Errorf("the guest reads as of %+v", read.AsOf)
	}
	pgtest.Eventually(t, nodetest.Patience, "a guest that wants other members is refused", func() bool { // nobody can say so while no leader is known
		code, text := guest.asks(http.MethodPost, "/v1/logs/flags/members", `{"members":["n1"]}`)
		if code == http.StatusOK {
			t.Fatalf("a guest changes the members: %s", text)
		}
		return code == http.StatusForbidden && strings.Contains(text, "not-a-peer")
	})
	guest.put("a", 2)
	leader := s.leader()
	if now := leader.deciders(); !slices.Equal(now, []string{"n1", "n2", "n3"}) {
		t.Errorf("the members are %q", now)
	}
	if read := gets[Read](leader, http.MethodGet, `/v1/logs/flags/state?fresh=1&query={"get":"a"}`, ""); !strings.Contains(string(read.Answer), `"value":2`) {
		t.Errorf("after the goal of a guest there is %s", read.Answer)
	}
}

// Where the peers of a log are named, no other node submits goals.
func TestNamedPeersSubmit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		peers []string
		name  string
		want  bool
	}{
		{nil, "n2", true},
		{nil, "g1", true},
		{[]string{"n2"}, "n2", true},
		{[]string{"n2"}, "n3", false},
		{[]string{"n2", "g1"}, "g1", false}, // it is none of the [[peers]] any more
		{[]string{}, "n2", false},
	} {
		r := &part{Log: Log{Peers: c.peers}, neighbours: []string{"n2", "n3"}}
		if is := r.submits(c.name); is != c.want {
			t.Errorf("with peers %q %s submits goals: %v", c.peers, c.name, is)
		}
	}
}

// What a guest says about how a log begins is believed by nobody, unless it is the log that the configuration names: then the bytes
// themselves prove it.
func TestAGuestIsNotBelieved(t *testing.T) {
	t.Parallel()
	g := txlog.Genesis{Namespace: "flags", Machine: kv.Machine, Members: []txlog.Member{{Name: "g1", Store: 1}}}.With()
	other := g
	other.Nonce = txlog.Hash{7}
	for _, c := range []struct {
		name, from string
		names      txlog.ID // in the configuration
		says       txlog.Genesis
		want       bool
	}{
		{"a peer", "n2", txlog.ID{}, g, true},
		{"a guest", "g1", txlog.ID{}, g, false},
		{"a guest, of the log that is named", "g1", g.ID(), g, true},
		{"a guest, of another log", "g1", g.ID(), other, false},
	} {
		r := &part{Log: Log{Namespace: "flags", ID: c.names}, neighbours: []string{"n2"}, counts: newCounts(), known: map[string]word{}}
		b, err := founding.Message{Log: c.says.ID(), Body: founding.Known{Serial: 1, Genesis: c.says}}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		r.founded(transport.Envelope{From: c.from, Body: b})
		if _, some, err := r.judge(time.Now()); some != c.want || err != nil {
			t.Errorf("%s is believed: %v, %v", c.name, some, err)
		}
		if refused := r.counts.refused[reasonStranger] > 0; refused == c.want {
			t.Errorf("%s is refused: %v", c.name, refused)
		}
	}
}

// However often a node asks for a store, it is drawn once at a time, and what is under way ends with the node. A peer that a reload has
// taken out of the configuration asks in vain.
func TestRequestsOfANodeDoNotPileUp(t *testing.T) {
	t.Parallel()
	var begun []func()
	r := &part{
		Log: Log{Namespace: "flags", Store: filepath.Join(t.TempDir(), "flags.log")}, neighbours: []string{"n2"}, counts: newCounts(), busy: map[string]bool{},
		over: t.Context(), spawn: func(do func()) { begun = append(begun, do) }, line: newLine("log/flags", nil),
	}
	asks := func(times, want int) {
		t.Helper()
		for range times {
			b, err := founding.Message{Body: founding.Prepare{Serial: 1, Namespace: "flags", Machine: kv.Machine}}.Encode()
			if err != nil {
				t.Fatal(err)
			}
			r.founded(transport.Envelope{From: "n2", Body: b})
		}
		if len(begun) != want {
			t.Errorf("asked %d times, %d answers are being made, want %d", times, len(begun), want)
		}
	}
	asks(100, 1)
	begun[0]()
	asks(100, 2)
	r.reload([]string{"n3"})
	begun[1]()
	asks(100, 2)
}
