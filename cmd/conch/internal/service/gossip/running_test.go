package gossip

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/transport/mtls"
)

// The only contact has another key of this node than it has: the node knows that it is refused, its status says so, and so does the
// doctor, which asks the node.
func TestAPeerThatRefusesThisNode(t *testing.T) {
	t.Parallel()
	all, fronts := site(t, 2)
	for _, f := range fronts {
		_ = f.Close()
	}
	other := filepath.Join(t.TempDir(), "other.pem")
	id, err := mtls.CreateIdentity(other)
	if err != nil {
		t.Fatal(err)
	}
	strict := *config.Of[*Section](all[0])
	strict.peers.Peers[0].Key = id.Fingerprint().String() // an old one
	a, b := host(t), host(t)
	a.start(t, config.Config{Sections: []config.Section{&strict}})
	b.start(t, all[1])
	site := httptest.NewServer(webtest.Site(t, &webtest.Log{}, b.Routes(), func(c *web.Config) { c.Board = web.NewBoard() }).API())
	defer site.Close()
	c := all[1]
	c.Node.Listen = strings.TrimPrefix(site.URL, "http://")
	var found []doctor.Finding
	pgtest.Eventually(t, nodetest.Patience, "the doctor hears of it", func() bool {
		found = examineRunning(t.Context(), c, "n1")
		// The first call may have ended before the refusal was read.
		return len(found) > 0 && strings.Contains(found[len(found)-1].Detail, "refuses this node")
	})
	text := found[0].Detail + found[len(found)-1].Detail + found[len(found)-1].Remedy
	for _, part := range []string{"the running node says", "n0 refuses this node", "n1 has no neighbour", config.Of[*Section](all[1]).peers.Identity.Name} {
		if !strings.Contains(text, part) {
			t.Errorf("%+v: want %q in it", found, part)
		}
	}
	if found[0].Status != doctor.Fail {
		t.Errorf("a node that nobody lets in is no failure: %+v", found[0])
	}
	for what, change := range map[string]func(*config.Config) string{
		"another node":    func(*config.Config) string { return "n7" },
		"nobody":          func(c *config.Config) string { c.Node.Listen = "127.0.0.1:1"; return "n1" },
		"a node without":  func(c *config.Config) string { c.Node.Listen = config.Off; return "n1" },
		"no socket there": func(c *config.Config) string { c.Node.Listen = "/nowhere/conch.sock"; return "n1" },
	} {
		c := c
		if found := examineRunning(t.Context(), c, change(&c)); len(found) > 0 && what == "another node" {
			t.Errorf("%s: %+v", what, found)
		}
		if found := examineRunning(t.Context(), c, "n1"); c.Node.Listen != strings.TrimPrefix(site.URL, "http://") && len(found) > 0 {
			t.Errorf("%s: %+v", what, found)
		}
	}
	c.Node.ReadTokenFile = filepath.Join(t.TempDir(), "none")
	if found := examineRunning(t.Context(), c, "n1"); len(found) != 1 || found[0].Status != doctor.Warn || !strings.Contains(found[0].Detail, "token") {
		t.Errorf("a token that cannot be read: %+v", found)
	}
}
