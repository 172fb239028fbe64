//go:build linux

package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/fleet"
)

// staged returns a trial of a test's own peer with each fault once.
func staged(t *testing.T, peer string) *trial {
	t.Helper()
	dir := t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, filepath.Join(dir, "contender-"+peer)); err != nil {
		t.Fatal(err)
	}
	counts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, `grpc_server_msg_received_total{grpc_method="Range"} 4`)
	}))
	t.Cleanup(counts.Close)
	addr := counts.Listener.Addr().String()
	x := &trial{
		cfg: Config{
			Self: filepath.Join(dir, "peers"), Quick: true, Patience: 30 * time.Second, Rest: 50 * time.Millisecond,
			Say: func(string, ...any) {}, launcher: fleet.NewLauncher(),
		},
		part:  part{peer: peer, variant: "default", beat: 20 * time.Millisecond, look: 20 * time.Millisecond},
		store: &store{target: addr, etcd: addr},
	}
	t.Cleanup(x.cfg.launcher.Close)
	x.prepare(t.TempDir())
	return x
}

// begun returns a trial whose members run.
func begun(t *testing.T, peer string) *trial {
	t.Helper()
	x := staged(t, peer)
	t.Cleanup(x.clear)
	if err := x.begin(); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestKillsAndHandovers(t *testing.T) {
	t.Parallel()
	x := begun(t, honest)
	for _, step := range []func(context.Context) error{x.rest, x.kills, x.handoffs} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r := x.result
	if r.Kill.Times != 1 || r.Kill.Never != 0 || r.Handoff.Times != 1 || r.Handoff.Never != 0 || r.HandoffZombies.String() != "0 in 0 of 1" {
		t.Errorf("got %+v, want one kill and one clean handover", r)
	}
	if r.Rest == nil || r.Memory == nil || *r.Memory <= 0 {
		t.Errorf("at rest got %+v, want both figures", r)
	}
}

// A leader that goes on after SIGTERM is not killed before its acts are counted.
func TestActsAfterAHandoverAreCounted(t *testing.T) {
	t.Parallel()
	x := begun(t, lingerer)
	if err := x.handoffs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if z := x.result.HandoffZombies; z.In != 1 || z.Writes < 1 {
		t.Errorf("got the zombies %s, want those of the leader that went on", z.String())
	}
}

// With a follower less a peer would be another peer.
func TestACandidateThatEndsByItselfEndsTheTrial(t *testing.T) {
	t.Parallel()
	x := staged(t, quitter)
	x.cfg.Patience = 2 * time.Second // for faults without a successor, if the trial reaches them
	err := x.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "node-2 ended by itself and says: there is no licence") {
		t.Errorf("got %v, want the end of node-2 with its words", err)
	}
}

// A leader may lose its term during the wait for the moment of a fault. Striking it then would measure
// only the pace of the new leader.
func TestOnlyTheLeaderIsStruck(t *testing.T) {
	t.Parallel()
	x := staged(t, honest)
	x.part.beat = time.Second
	for i := range members {
		x.members = append(x.members, &member{id: fmt.Sprintf("node-%d", i+1), process: &fleet.Process{}})
	}
	var leads atomic.Pointer[string]
	over := make(chan struct{})
	ended := make(chan error, 1)
	change := x.part.strikeAfter(0)/4 + settling // the leader is found before, and struck after
	go func() { ended <- pretend(filepath.Join(x.dir, actsFile), change, &leads, over) }()
	struck := ""
	_, _, err := x.strike(t.Context(), 0, func(m *member) {
		struck = m.id
		if now := *leads.Load(); now != m.id {
			t.Errorf("%s is struck while %s leads", m.id, now)
		}
	})
	close(over)
	if fault := <-ended; err != nil || fault != nil || struck != "node-2" {
		t.Errorf("%q is struck: %v, %v; want node-2", struck, err, fault)
	}
}

// pretend writes the acts of a leader that is replaced after a while.
func pretend(path string, change time.Duration, leads *atomic.Pointer[string], over <-chan struct{}) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	first, second := "node-1", "node-2"
	leads.Store(&first)
	began, tick := time.Now(), time.NewTicker(pace)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return nil
		case <-tick.C:
		}
		if time.Since(began) > change {
			leads.Store(&second)
		}
		now := fence.Boottime()
		if err := json.NewEncoder(out).Encode(act{Node: *leads.Load(), Start: now, End: now}); err != nil {
			return err
		}
	}
}
