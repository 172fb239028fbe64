//go:build unix

package assemble_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/assemble"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending/pgstore"
)

const patience = 20 * time.Second

// ends waits until a node has ended in order.
func ends(t *testing.T, ended <-chan error) {
	t.Helper()
	pgtest.Within(t, 3*patience, "the node ends", func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// rereads asks a node to read its configuration again.
func rereads(t *testing.T, reload chan<- struct{}) {
	t.Helper()
	pgtest.Within(t, patience, "a reload is begun", func() { reload <- struct{}{} })
}

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		if err := migrate.Up(ctx, conn, migrate.Set{Files: pgmint.Migrations()}, nil); err != nil {
			return err
		}
		return pgstore.Up(ctx, conn, nil)
	})
	pgtest.Main(m) // and looks for what still runs
}

// logbook is a log that can be read while it is written.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logbook) says(t *testing.T, parts ...string) {
	t.Helper()
	pgtest.Eventually(t, patience, "the log says "+strings.Join(parts, ", "), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for line := range strings.Lines(l.text.String()) {
			all := true
			for _, part := range parts {
				all = all && strings.Contains(line, part)
			}
			if all {
				return true
			}
		}
		return false
	})
}

// value of a key in the first line that says something.
func (l *logbook) value(t *testing.T, says, key string) string {
	t.Helper()
	l.says(t, says)
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if _, after, ok := strings.Cut(line, " "+key+"="); ok && strings.Contains(line, says) {
			return strings.Fields(after)[0]
		}
	}
	t.Fatalf("no %s where the log says %q", key, says)
	return ""
}

func trial(scope string) config.Role {
	return config.Role{Name: scope, Scope: scope, Builtin: config.BuiltinLog, Lease: time.Second}
}

// A life in this very process: what it leaves running would be found at the end.
func TestALifeOfANode(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	var mu sync.Mutex
	cfg := config.Config{
		Node:     config.Node{Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", DataDir: t.TempDir()},
		Database: pgmint.Config{URL: db.URL}, Named: true,
		Election: election.Config{ID: "n1", Takeover: election.Strict},
		Roles:    []config.Role{trial("stays"), trial("goes")},
	}
	log, reload := &logbook{}, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- assemble.Run(ctx, assemble.Options{
			Config: cfg, Log: slog.New(slog.NewTextHandler(log, nil)), Reload: reload,
			Load: func() (config.Config, error) { mu.Lock(); defer mu.Unlock(); return cfg, nil },
		})
	}()
	log.says(t, "msg=leading", "scope=stays")
	log.says(t, "msg=leading", "scope=goes")
	mu.Lock()
	cfg.Roles = []config.Role{trial("stays"), trial("comes")}
	mu.Unlock()
	rereads(t, reload)
	log.says(t, "configuration read again", "added=[comes]", "removed=[goes]")
	log.says(t, "leadership released", "scope=goes", "id=n1")
	log.says(t, "msg=leading", "scope=comes")
	cancel()
	ends(t, ended)
	o, err := pgmint.Observe(t.Context(), cfg.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	all, err := o.Leaderships(t.Context(), "")
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	for _, l := range all {
		if !l.Released || l.Held || len(l.Candidates) > 0 {
			t.Errorf("left behind: %+v", l)
		}
	}
}

func TestALifeAlone(t *testing.T) {
	t.Parallel()
	log := &logbook{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	cfg := config.Config{Node: config.Node{Listen: config.Off, Standalone: true}, Roles: []config.Role{trial("a")}}
	go func() {
		ended <- assemble.Run(ctx, assemble.Options{Config: cfg, Log: slog.New(slog.NewTextHandler(log, nil))})
	}()
	log.says(t, "msg=leading", "scope=a", "epoch=0")
	cancel()
	ends(t, ended)
}

func TestNoDatabaseAndNoWord(t *testing.T) {
	t.Parallel()
	err := assemble.Run(t.Context(), assemble.Options{Config: config.Config{Node: config.Node{Listen: config.Off}, Roles: []config.Role{trial("a")}}, Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, assemble.ErrNoDatabase) {
		t.Error(err)
	}
}
