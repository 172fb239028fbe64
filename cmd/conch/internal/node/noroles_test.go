//go:build unix

package node_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
)

// everywhere is a section with work for every node, and a key that is read once.
type everywhere struct {
	config.Section
	key string
}

func (everywhere) Everywhere() bool { return true }

func (e everywhere) Restarts(began, _ config.Config) []string {
	if was := config.Of[everywhere](began); was.key != e.key {
		return []string{"everywhere.key"}
	}
	return nil
}

// A node without a role needs no database: nothing is to be elected. One with a role still does.
func TestANodeWithoutRolesNeedsNoDatabase(t *testing.T) {
	t.Parallel()
	kinds := []node.Kind{kindOf("roles", node.Plain{}), {Section: func() config.Section { return everywhere{Section: configtest.Plain("everywhere")} }, Open: func(node.Frame) node.Service { return node.Plain{} }}}
	load := func(text string) (config.Config, error) {
		return configtest.Load(t, text, config.Source{Sections: node.Sections(kinds)}, nil)
	}
	cfg, err := load("[node]\nlisten = \"127.0.0.1:0\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Check(cfg, kinds); err != nil {
		t.Errorf("without a role: %v, want no fault", err)
	}
	lead, err := load("[[roles]]\nname = \"payments\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Check(lead, kinds); !errors.Is(err, node.ErrNoDatabase) {
		t.Errorf("with a role: %v, want %v", err, node.ErrNoDatabase)
	}
	log := &nodetest.Log{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- node.Run(ctx, node.Options{Config: cfg, Kinds: kinds, Log: slog.New(slog.NewTextHandler(log, nil))})
	}()
	log.Says(t, "msg=\"node started\"")
	api := "http://" + log.Value(t, "serving the API", "address")
	for path, status := range map[string]int{"/readyz": 200, "/healthz": 200, "/v1/scopes": 200, "/v1/history": 200, "/metrics": 200, "/v1/scopes/payments/gate": 404, "/leader/payments": 503} {
		if got, text := read(t, api+path); got != status || strings.Contains(text, "conch_database_up") {
			t.Errorf("%s: status %d, body %s; want %d, and no word of a database", path, got, text, status)
		}
	}
	if _, text := read(t, api+"/v1/scopes?view=dense"); !strings.Contains(text, `"database":"none"`) || !strings.Contains(text, `"rows":[]`) {
		t.Errorf("the rows of its page are %s, want none, and no database", text)
	}
	if _, text := read(t, api+"/v1/session"); !strings.Contains(text, `"parts":["node","doctor"]`) {
		t.Errorf("its session is %s, and it has neither scopes nor a table of a service", text)
	}
	cancel()
	nodetest.Ends(t, ended)
}

// A role that a reload brings to a node without a database would have no election. The reload is refused, and nothing of
// it takes effect; a restart helps.
func TestARoleComesToANodeWithoutADatabase(t *testing.T) {
	t.Parallel()
	section := func(key string, roles ...config.Role) []config.Section {
		return []config.Section{everywhere{configtest.Plain("first", roles...), key}}
	}
	began := config.Config{Node: config.Node{Listen: "127.0.0.1:0"}, Sections: section("a")}
	for name, fresh := range map[string]config.Config{
		"with a database": {Named: true, Sections: section("a", trial("payments"))},
		"standalone":      {Node: config.Node{Standalone: true}, Sections: section("a", trial("payments"))},
		"without either":  {Sections: section("a", trial("payments"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var next atomic.Pointer[config.Config]
			fresh.Node.Listen = began.Node.Listen
			next.Store(&fresh)
			var used atomic.Int32
			log, reload := &nodetest.Log{}, make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- node.Run(ctx, node.Options{
					Config: began, Log: slog.New(slog.NewTextHandler(log, nil)), Reload: reload, Kinds: []node.Kind{kindOf("first", counting{used: &used})},
					Load: func() (config.Config, error) { return *next.Load(), nil },
				})
			}()
			log.Says(t, "msg=\"node started\"")
			api := "http://" + log.Value(t, "serving the API", "address")
			nodetest.Rereads(t, reload)
			says := "restart it"
			if name == "without either" {
				says = "no database"
			}
			log.Says(t, "configuration not changed", says)
			if status, text := read(t, api+"/v1/scopes/payments/gate"); status != http.StatusNotFound || used.Load() != 1 {
				t.Errorf("after the reload: gate %d %s, applied %d times; want no gate, and the start alone", status, text, used.Load())
			}
			next.Store(&config.Config{Node: began.Node, Sections: section("b")})
			cancel()
			nodetest.Ends(t, ended)
		})
	}
}

// What a later reload does not change is still named, since it needs a restart still.
func TestAPendingRestartIsNamedAgain(t *testing.T) {
	t.Parallel()
	cfg := func(key string) config.Config {
		return config.Config{Node: config.Node{Listen: "off"}, Sections: []config.Section{everywhere{configtest.Plain("first"), key}}}
	}
	log, reload := &nodetest.Log{}, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- node.Run(ctx, node.Options{
			Config: cfg("a"), Log: slog.New(slog.NewTextHandler(log, nil)), Reload: reload, Kinds: []node.Kind{kindOf("first", node.Plain{})},
			Load: func() (config.Config, error) { return cfg("b"), nil },
		})
	}()
	log.Says(t, "msg=\"node started\"")
	for range 3 {
		nodetest.Rereads(t, reload)
	}
	cancel()
	nodetest.Ends(t, ended)
	if lines := log.Lines(); len(slices.DeleteFunc(lines, func(l string) bool { return !strings.Contains(l, "everywhere.key") })) != 3 {
		t.Errorf("the key is not named by each of three reloads: %q", lines)
	}
}
