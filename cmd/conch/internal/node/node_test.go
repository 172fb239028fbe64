//go:build unix

package node_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		return pgmint.Tables.Up(ctx, conn, nil)
	})
	pgtest.Main(m) // also looks for goroutines left running
}

func trial(scope string) config.Role {
	return config.Role{Name: scope, Scope: scope, Lease: time.Second}
}

// bells returns a section with a trial for each scope.
func bells(scopes ...string) []config.Section {
	var roles []config.Role
	for _, scope := range scopes {
		roles = append(roles, trial(scope))
	}
	return []config.Section{nodetest.Given(roles...)}
}

// The node runs in this process, so that goroutines it leaves running are found at the end.
func TestALifeOfANode(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	var mu sync.Mutex
	cfg := config.Config{
		Node:     config.Node{Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", DataDir: t.TempDir()},
		Database: pgmint.Config{URL: db.URL}, Named: true,
		Election: election.Config{ID: "n1", Takeover: mint.Strict},
		Sections: bells("stays", "goes"),
	}
	log, reload := &nodetest.Log{}, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- node.Run(ctx, node.Options{
			Kinds: []node.Kind{nodetest.Bells()}, Config: cfg, Log: slog.New(slog.NewTextHandler(log, nil)), Reload: reload,
			Load: func() (config.Config, error) { mu.Lock(); defer mu.Unlock(); return cfg, nil },
		})
	}()
	log.Says(t, "msg=ringing", "scope=stays")
	log.Says(t, "msg=ringing", "scope=goes")
	mu.Lock()
	cfg.Sections = bells("stays", "comes")
	mu.Unlock()
	nodetest.Rereads(t, reload)
	log.Says(t, "configuration read again", "added=[comes]", "removed=[goes]")
	log.Says(t, "leadership released", "scope=goes", "id=n1")
	log.Says(t, "msg=ringing", "scope=comes")
	cancel()
	nodetest.Ends(t, ended)
	o, err := pgops.Observe(t.Context(), cfg.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	all, err := o.Scopes(t.Context(), "")
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	for _, l := range all {
		if !l.Released || l.Held || len(l.Candidates) > 0 {
			t.Errorf("the node left %+v, want released, not held and without candidates", l)
		}
	}
}

func TestALifeAlone(t *testing.T) {
	t.Parallel()
	log := &nodetest.Log{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	cfg := config.Config{Node: config.Node{Listen: config.Off, Standalone: true}, Sections: bells("a")}
	go func() {
		ended <- node.Run(ctx, node.Options{Kinds: []node.Kind{nodetest.Bells()}, Config: cfg, Log: slog.New(slog.NewTextHandler(log, nil))})
	}()
	log.Says(t, "msg=ringing", "scope=a", "epoch=0")
	cancel()
	nodetest.Ends(t, ended)
}

func TestNoDatabaseAndNoWord(t *testing.T) {
	t.Parallel()
	err := node.Run(t.Context(), node.Options{Config: config.Config{Node: config.Node{Listen: config.Off}, Sections: bells("a")}, Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, node.ErrNoDatabase) {
		t.Error(err)
	}
}
