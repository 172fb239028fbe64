package node

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
)

// The configuration in force is shown by a closed list of keys, each with where its value comes from, and no secret nor a place of one is;
// the doctor's findings are those of the command, and those who ask at once share them.
func TestPagesOfANode(t *testing.T) {
	t.Parallel()
	const text = `
[node]
token_file = "/run/secret-tokens"
public_url = "https://conch.example/ops"

[metrics]
per_scope = "gauges"

[election]
lease = "7s"

[[roles]]
name = "payments"

[alerting]
cluster = "prod-eu"
`
	cfg, err := configtest.Load(t, text, config.Source{Sections: configtest.Beside(), ID: "node-1", DB: "postgres://u:pa55word@127.0.0.1:1/app"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(t.Context(), Options{Config: cfg, Version: "v1.2.3", Log: slog.New(slog.DiscardHandler)})
	defer n.endOver()
	api := webtest.Site(t, new(webtest.Log), n.routes(), nil).API()
	spec := webtest.Read(t, OpenAPI)
	get := func(path string) string {
		r, out := webtest.Exchange[any]{Ask: "GET " + path}.Request(), httptest.NewRecorder()
		api.ServeHTTP(out, r)
		spec.Verify(t, r, out)
		if out.Code != 200 {
			t.Fatalf("%s: %d %s", path, out.Code, out.Body)
		}
		return out.Body.String()
	}
	shown := get("/v1/config")
	for _, want := range []string{
		`{"key":"node.instance_id","value":"node-1","from":"--id"}`, `{"key":"node.public_url","value":"https://conch.example/ops","from":"line 4"}`,
		`{"key":"metrics.per_scope","value":"gauges","from":"line 7"}`, `{"key":"election.lease","value":"7s","from":"line 10"}`,
		`{"key":"roles[0].lease","value":"7s","from":"default"}`, `{"key":"node.listen","value":"127.0.0.1:7070","from":"default"}`,
		`{"key":"roles[0].name","value":"payments","from":"line 13"}`, `{"key":"alerting.cluster","value":"prod-eu","from":"line 16"}`, n.about().Settings,
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("the configuration is %s\nwant %s", shown, want)
		}
	}
	exam := get("/v1/doctor")
	if !strings.Contains(exam, `"findings":[{"check":"`) || get("/v1/doctor") != exam {
		t.Errorf("the doctor says %s, then something else; want findings, and the same ones for all who ask at once", exam)
	}
	for _, secret := range []string{"pa55word", "secret-tokens"} {
		if strings.Contains(shown+exam, secret) {
			t.Errorf("%q is shown: %s %s", secret, shown, exam)
		}
	}
	if got, want := n.parts(), []string{"alerting", "election", "metrics", "node", "roles", "doctor", "jobs", "scopes"}; !slices.Equal(got, want) {
		t.Errorf("the parts are %q, want %q", got, want)
	}
	if about := n.about(); about.Version != "v1.2.3" || len(about.Settings) != 12 {
		t.Errorf("others are shown %+v, want the version and a hash", about)
	}
}

// Nodes that differ in what belongs to one machine have one hash; what they should have in common changes it.
func TestSettingsAreComparable(t *testing.T) {
	t.Parallel()
	load := func(text string, s config.Source) string {
		s.Sections = configtest.Beside()
		cfg, err := configtest.Load(t, text, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		return settingsOf(cfg)
	}
	const roles = "[[roles]]\nname = \"b\"\n[[roles]]\nname = \"a\"\n"
	one := load(roles, config.Source{ID: "node-1", DB: "postgres://x/y"})
	for name, other := range map[string]struct {
		text string
		same bool
	}{
		"another machine": {"[node]\nlisten = \"127.0.0.1:7171\"\ndata_dir = \"/var/x\"\n" + roles, true},
		"another order":   {"[[roles]]\nname = \"a\"\n[[roles]]\nname = \"b\"\n", true},
		"another lease":   {"[election]\nlease = \"9s\"\n" + roles, false},
		"a role less":     {"[[roles]]\nname = \"b\"\n", false},
		"another cluster": {"[alerting]\ncluster = \"test\"\n" + roles, false},
		"other locks":     {"[election]\nlocks = \"process\"\n" + roles, false},
	} {
		if got := load(other.text, config.Source{ID: "node-2", DB: "postgres://x/y"}); (got == one) != other.same {
			t.Errorf("%s: %s and %s, want the same: %t", name, one, got, other.same)
		}
	}
}

// What a page of another site or a caller without a token asks is refused as everywhere, which webtest checks of each operation.
func TestRoutesOfANode(t *testing.T) {
	t.Parallel()
	n := newNode(t.Context(), Options{Config: config.Config{Node: config.Node{Standalone: true}}, Log: slog.New(slog.NewTextHandler(new(bytes.Buffer), nil))})
	defer n.endOver()
	var served []string
	for _, r := range n.routes() {
		served = append(served, r.Method+" "+r.Path)
	}
	if !slices.Equal(served, []string{"GET /v1/doctor", "GET /v1/config"}) {
		t.Errorf("served: %q", served)
	}
}
