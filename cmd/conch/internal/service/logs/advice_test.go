package logs

import (
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum"
)

// A node whose connected peers have another log of its name says so, if that one goes on with its own, or if more of them have it. The
// log with which its own goes on has ended: a node that has it still says so itself.
func TestAnotherLogOfTheName(t *testing.T) {
	t.Parallel()
	genesis := func(nonce byte, parent txlog.ID) txlog.Genesis {
		g := txlog.Genesis{Namespace: "flags", Machine: kv.Machine, Members: []txlog.Member{{Name: "n1", Store: 1}}, Nonce: txlog.Hash{nonce}}
		g.Parent.Log = parent
		return g.With()
	}
	old := genesis(1, txlog.ID{})
	next, other := genesis(2, old.ID()), genesis(3, txlog.ID{})
	type said map[string]txlog.Genesis
	for _, c := range []struct {
		name string
		own  txlog.Genesis
		said said
		want []string // nothing: it says nothing
	}{
		{"nobody has said anything", old, nil, nil},
		{"all have this one", old, said{"n2": old, "n3": old}, nil},
		{"one has gone on", old, said{"n2": old, "n3": next, "n4": old}, []string{"another log of this name at n3, which goes on with this one", "--from FILE", next.ID().String()}},
		{"all have gone on", old, said{"n2": next, "n3": next}, []string{"at n2, n3, "}},
		{"it is not connected", old, said{"n9": next}, nil},
		{"another one has not gone on", next, said{"n2": old, "n3": old}, nil},
		{"one has another", old, said{"n2": old, "n3": other}, nil},
		{"more have another", old, said{"n2": other, "n3": other, "n4": old}, []string{"at n2, n3, " + other.ID().String(), "this node has " + old.ID().String(), "/flags.log"}},
		{"one of another name", old, said{"n2": {Namespace: "routes"}}, nil},
	} {
		r := &part{
			Log: Log{Namespace: "flags", Store: "/flags.log"}, neighbours: []string{"n2", "n3", "n4", "n9"}, genesis: &c.own,
			others: map[string]speech{}, known: map[string]word{},
		}
		for from, g := range c.said {
			r.hear(from, g, time.Now())
		}
		got := r.elsewhere([]string{"n2", "n3", "n4"})
		if len(c.want) == 0 && got != "" {
			t.Errorf("%s: it says %q", c.name, got)
		}
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: it says %q, want %q in it", c.name, got, part)
			}
		}
	}
}

// A node notes of which log the nodes of its configuration speak, and nobody else: guests, of which there may be thousands, fill nothing, also
// if they speak of the log that its configuration names. One that is in [[peers]] no more counts no more.
func TestWhatGuestsSayIsNotKept(t *testing.T) {
	t.Parallel()
	g := txlog.Genesis{Namespace: "flags", Machine: kv.Machine, Members: []txlog.Member{{Name: "n1", Store: 1}}}.With()
	other := g
	other.Nonce = txlog.Hash{7}
	r := newPart(Log{Namespace: "flags", ID: g.ID()}, "n1", []string{"n2", "n3"}, ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), node.Frame{Log: slog.New(slog.DiscardHandler)}, nil)
	r.believe(g)
	for i := range 1000 {
		r.hear(fmt.Sprint("guest ", i), g, time.Now())
		r.hear(fmt.Sprint("guest ", i), other, time.Now())
	}
	r.hear("n2", other, time.Now())
	r.hear("n3", other, time.Now())
	if len(r.others) != 2 || !strings.Contains(r.elsewhere([]string{"n2", "n3"}), "at n2, n3, ") {
		t.Errorf("%d are kept", len(r.others))
	}
	r.reload([]string{"n2"})
	if text := r.elsewhere([]string{"n2", "n3"}); len(r.others) != 1 || !strings.Contains(text, "at n2, ") {
		t.Errorf("%d are kept of one, and it says %q", len(r.others), text)
	}
}

// What is said of members that run with other stores: only if too few old ones can be left, and nobody leads.
func TestTooFewStoresAreLeft(t *testing.T) {
	t.Parallel()
	members := []txlog.Member{{Name: "n1", Store: 1}, {Name: "n2", Store: 2}, {Name: "n3", Store: 3}}
	stands, goesOn := &quorum.Majority{Advice: "1 of 3 members answer"}, &quorum.Majority{}
	for _, c := range []struct {
		name    string
		renewed []string
		quorum  *quorum.Majority
		want    string
	}{
		{"none is another one", nil, stands, ""},
		{"one is", []string{"n2"}, stands, ""},
		{"two are", []string{"n2", "n3"}, stands, "n2, n3 ran with other stores before, and those of now cannot vote until a leader has admitted them. 1 of 3 old stores can be left, and a leader needs 2"},
		{"two are, at one of them", []string{"n2", "n3"}, nil, "conch log recover flags --from FILE"},
		{"two are, and it goes on", []string{"n2", "n3"}, goesOn, ""},
		{"all are", []string{"n1", "n2", "n3"}, nil, "0 of 3 old stores"},
	} {
		got := lost(quorum.Status{Members: members, Renewed: c.renewed, Majority: c.quorum}, "flags")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: it says %q, want %q", c.name, got, c.want)
		}
	}
	if got := lost(quorum.Status{}, "flags"); got != "" {
		t.Errorf("of a log that has ended it says %q", got)
	}
}

// A node that has no copy and is connected with no node of its configuration cannot hear how the log began. It says so, with the key by which they have
// to know it: to ask again, or to make the log, would be of no use if that key is a new one.
func TestNobodyKnowsThisKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2")
	n := s.nodes["n1"].start()
	pgtest.Eventually(t, nodetest.Patience, "n1 waits", func() bool { return n.status().State == stateWaiting })
	key := "sha256:" + n.svc.Parts()[0].key.String()
	if text := n.status().Advice; !strings.Contains(text, "know it by the key that it has, "+key) {
		t.Errorf("alone it says %q", text)
	}
	if code, text := n.asks(http.MethodGet, "/v1/logs/flags/genesis", ""); code != http.StatusServiceUnavailable || !strings.Contains(text, key) {
		t.Errorf("asked for the log it says %d %s", code, text)
	}
	s.start("n2")
	pgtest.Eventually(t, nodetest.Patience, "with n2 it says what to do", func() bool { return n.status().Advice == notMade })
}
