package quorum_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// heavy is a state machine for tests: a goal has the largest outcome that there is, and a goal that begins with "more" one of which a part is
// larger by a byte.
type heavy struct{ goals uint64 }

func newHeavy() txlog.State { return new(heavy) }

func (h *heavy) Execute(goal []byte, _ *txlog.Budget) txlog.Outcome {
	o := txlog.Outcome{Result: make([]byte, limits.MostResult), Diff: bytes.Repeat([]byte{7}, limits.MostDiff)}
	for range limits.MostEffects {
		o.Effects = append(o.Effects, txlog.Effect{Kind: strings.Repeat("k", limits.MostName), Body: make([]byte, limits.MostEffect)})
	}
	switch string(goal[:min(len(goal), 6)]) {
	case "more r":
		o.Result = append(o.Result, 0)
	case "more d":
		o.Diff = append(o.Diff, 7)
	case "more e":
		o.Effects = append(o.Effects, o.Effects[0])
	case "more k":
		o.Effects[0].Kind += "k"
	case "more b":
		o.Effects[0].Body = append(o.Effects[0].Body, 0)
	}
	return o
}

func (h *heavy) Apply(diff []byte) error {
	if len(diff) > 0 {
		h.goals++
	}
	return nil
}

func (h *heavy) View() txlog.View                            { v := *h; return &v }
func (h *heavy) Query([]byte, *txlog.Budget) ([]byte, error) { return []byte(fmt.Sprint(h.goals)), nil }
func (h *heavy) Hash() txlog.Hash                            { return txlog.Hash{byte(h.goals)} }
func (h *heavy) Snapshot() []byte                            { return binary.BigEndian.AppendUint64(nil, h.goals) }
func (h *heavy) Restore(s []byte) error                      { h.goals = binary.BigEndian.Uint64(s); return nil }

// The largest goal with the largest outcome, of which each part is just as large as it may be, is stored by all members, one of them on a real
// file, and given to a follower; it is there after a restart, comes to a node from nothing, and is in a snapshot. What is larger by a byte has
// failed, and the log goes on.
func TestTheLargestEntry(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		for _, n := range s.nodes {
			n.kill()
			n.with = func(c *quorum.Config) { c.New, c.SnapshotEvery, c.SnapshotAfter = newHeavy, 10, 6 }
		}
		file := filepath.Join(t.TempDir(), "log")
		id, err := disk.Create(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		s.genesis.Members[2].Store = id
		real, err := disk.Begin(t.Context(), file, s.genesis)
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range s.nodes {
			n.store = store.NewMemory(uint64(i+1), s.genesis)
		}
		s.nodes[2].store = real
		for _, n := range s.nodes {
			n.start()
		}
		execute := func(n *node, i int, what string) txlog.Answer {
			t.Helper()
			id := fmt.Sprintf("%0*d", limits.MostGoalID, i)
			a, err := n.run.Load().Goal(t.Context(), id, append([]byte(what), make([]byte, txlog.MostGoal-len(what))...), 0)
			if err != nil {
				t.Fatalf("goal %d: %v", i, err)
			}
			return a
		}
		for i := range 4 {
			if a := execute(s.nodes[i], i, "most"); a.Fault != "" || len(a.Result) != limits.MostResult {
				t.Fatalf("goal %d: %q, and a result of %d bytes", i, a.Fault, len(a.Result))
			}
		}
		for i, what := range []string{"more r", "more d", "more e", "more k", "more b"} {
			if a := execute(s.nodes[0], 10+i, what); !strings.Contains(a.Fault, "at most") {
				t.Errorf("%s: %q", what, a.Fault)
			}
		}
		s.equal(20 * time.Second)
		for i, n := range []*node{s.nodes[2], s.nodes[3]} { // from its store, and from nothing
			n.kill()
			if n.store = store.NewMemory(4, s.genesis); n == s.nodes[2] {
				if err := real.Close(); err != nil {
					t.Fatal(err)
				}
				if real, err = disk.Open(t.Context(), file); err != nil {
					t.Fatal(err)
				}
				n.store = real
			}
			n.start()
			execute(n, 20+i, "most")
			s.equal(20 * time.Second)
		}
		for i := range 10 { // by a snapshot
			execute(s.nodes[i%4], 40+i, "most")
		}
		s.nodes[3].kill()
		s.nodes[3].store = store.NewMemory(5, s.genesis)
		s.nodes[3].start()
		s.equal(20 * time.Second)
		if kept := s.nodes[3].store.View().Kept; len(kept) == 0 {
			t.Error("it has come without a snapshot")
		}
		answer, _, err := s.nodes[3].run.Load().Query(t.Context(), []byte("?"))
		if err != nil || string(answer) != "16" {
			t.Errorf("of 16 goals it has %s, %v", answer, err)
		}
		for _, n := range s.nodes {
			n.kill()
		}
		if err := real.Close(); err != nil {
			t.Error(err)
		}
	})
}
