package quorum_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/transport/memory"
)

// B20, V6: while leaders are cut off, messages are lost, doubled and late, and nodes are killed, a read that asks a majority has
// everything that was acknowledged before it began, and no goal is lost or happens twice.
func TestReadsAreLinearizable(t *testing.T) {
	t.Parallel()
	for seed := range runtest.ByDay[uint64](1, 20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, 5, 2, func(t *testing.T, s *site) { chaos(t, s, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func chaos(t *testing.T, s *site, chance *rand.Rand) {
	t.Helper()
	var begun, acknowledged, reads atomic.Int64
	var users sync.WaitGroup
	over := make(chan struct{})
	going := func() bool {
		select {
		case <-over:
			return false
		default:
			return true
		}
	}
	for i := range 4 {
		users.Go(func() {
			for n := 0; going(); n++ {
				begun.Add(1)
				id := fmt.Sprint("goal ", i, " ", n)
				since := uint64(0)
				for tries := 0; ; tries++ {
					if tries == 200 {
						t.Errorf("goal %s has no answer\n%s", id, s.view())
						return
					}
					h := s.nodes[(i+n+tries)%len(s.nodes)].run.Load()
					if h == nil {
						pass(round)
						continue
					}
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
					if since == 0 {
						since = h.Position().Index
					}
					a, err := h.Goal(ctx, id, []byte(`{"op":"add","key":"count"}`), since)
					cancel()
					if err == nil && a.Fault == "" {
						break
					}
					pass(round / 2)
				}
				acknowledged.Add(1)
			}
		})
	}
	for i, n := range s.nodes {
		users.Go(func() {
			for going() {
				least := acknowledged.Load()
				h := n.run.Load()
				if h == nil {
					pass(round)
					continue
				}
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				answer, at, err := h.Fresh(ctx, []byte(`{"get":"count"}`))
				cancel()
				most := begun.Load()
				var is struct{ Value int64 }
				if err == nil {
					if err := json.Unmarshal(answer, &is); err != nil {
						t.Error(err)
					}
					if reads.Add(1); is.Value < least || is.Value > most {
						t.Errorf("node %d reads %d at %d; %d were acknowledged before, and %d had begun", i, is.Value, at.Index, least, most)
						return
					}
				}
				pass(time.Duration(50+i) * time.Millisecond)
			}
		})
	}
	s.net.SetFaults(memory.Faults{Loss: 0.03, Double: 0.03, Least: time.Millisecond, Most: 30 * time.Millisecond})
	names := func(part []*node) (all []string) {
		for _, n := range part {
			all = append(all, n.name)
		}
		return all
	}
	for range 10 {
		pass(time.Duration(1+chance.IntN(3000)) * time.Millisecond)
		switch chance.IntN(3) {
		case 0: // the leader is alone with a follower
			if l := s.leader(); l != nil {
				var rest []*node
				for _, n := range s.nodes[:6] {
					if n != l {
						rest = append(rest, n)
					}
				}
				s.net.Part(append(names(s.nodes[6:]), l.name), names(rest))
			}
		case 1:
			k := chance.IntN(5)
			s.net.Part(names(s.nodes[:k]), names(s.nodes[k:]))
		case 2:
			n := s.nodes[chance.IntN(len(s.nodes))]
			n.kill()
			pass(time.Duration(1+chance.IntN(2000)) * time.Millisecond)
			n.start()
		}
		pass(time.Duration(1+chance.IntN(3000)) * time.Millisecond)
		s.net.Heal()
	}
	s.net.SetFaults(memory.Faults{Least: time.Millisecond, Most: 5 * time.Millisecond})
	close(over)
	users.Wait()
	s.goes("after it")
	s.equal(20 * time.Second)
	for _, n := range s.nodes {
		answer, _, err := n.run.Load().Query(t.Context(), []byte(`{"get":"count"}`))
		if want := fmt.Sprintf(`{"key":"count","value":%d,"found":true}`, acknowledged.Load()); err != nil || string(answer) != want {
			t.Errorf("%s has %s, %v; want %s", n.name, answer, err, want)
		}
	}
	if reads.Load() < 100 || acknowledged.Load() < 100 {
		t.Errorf("%d reads and %d goals prove little", reads.Load(), acknowledged.Load())
	}
	t.Log(reads.Load(), "reads,", acknowledged.Load(), "goals")
}
