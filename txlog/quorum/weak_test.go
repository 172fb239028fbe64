package quorum_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/quorum"
)

// weak is a kv in a memory that loses a value when a test says so: its content has another hash, and what is read is wrong.
type weak struct {
	txlog.Gradual

	lost *atomic.Bool
}

func (w weak) View() txlog.View { return weakView{w.Gradual.View(), w.lost} }

func (w weak) Read(bytes bool) txlog.Reading { return weakReading{w.Gradual.Read(bytes), w.lost} }

type weakView struct {
	txlog.View

	lost *atomic.Bool
}

func (w weakView) Query(query []byte, budget *txlog.Budget) ([]byte, error) {
	if w.lost.Load() {
		return []byte("wrong"), nil
	}
	return w.View.Query(query, budget)
}

type weakReading struct {
	txlog.Reading

	lost *atomic.Bool
}

func (w weakReading) Hash() txlog.Hash {
	if w.lost.Load() {
		return txlog.Hash{1}
	}
	return w.Reading.Hash()
}

// chips are the memory of one node: what is made later is in another place, and takes a while to be made.
type chips struct {
	mu     sync.Mutex
	made   []*atomic.Bool
	failed atomic.Bool
}

func (m *chips) state() txlog.State {
	if m.failed.Load() {
		pass(3 * time.Second)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of, _ := kv.New().(txlog.Gradual)
	m.made = append(m.made, new(atomic.Bool))
	return weak{of, m.made[len(m.made)-1]}
}

func (m *chips) fails() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, of := range m.made {
		of.Store(true)
	}
	m.failed.Store(true)
}

// A value that memory has lost is found by a scrub, also if no entry comes after it: the copy is made anew at once, and until then and
// after it nobody is given the wrong value (B15, V7).
func TestAScrubOfAQuietLog(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"the leader", "a member", "a follower"} {
		t.Run(role, func(t *testing.T) {
			bubble(t, 3, 1, func(t *testing.T, s *site) { s.losesAValue(role) })
		})
	}
}

func (s *site) losesAValue(role string) {
	s.t.Helper()
	memories := map[string]*chips{}
	for _, n := range s.nodes {
		n.kill()
		memories[n.name] = &chips{}
		n.with = func(c *quorum.Config) { c.New = memories[n.name].state }
		n.start()
	}
	for i := range 40 { // so much that not all is read at once
		if _, err := s.nodes[0].large(i); err != nil {
			s.t.Fatal(err)
		}
	}
	for i := 0; s.nodes[3].run.Load().Position().Index < 50; i++ { // then it has the scrub
		if _, err := s.nodes[0].put(fmt.Sprint("more ", i), "k", i); err != nil {
			s.t.Fatal(err)
		}
		s.equal(3 * time.Second)
	}
	n := s.nodes[3]
	for _, of := range s.nodes[:3] {
		if role != "a follower" && (of == s.leader()) == (role == "the leader") {
			n = of
		}
	}
	read := func() string {
		answer, _, err := n.run.Load().Query(s.t.Context(), []byte(`{"get":"k0"}`))
		if err != nil {
			s.t.Errorf("%v after the loss: %v", n.name, err)
		}
		return string(answer)
	}
	right := read()
	memories[n.name].fails()
	last := n.run.Load().Position()
	s.within(10*time.Second, "it is made anew", func() bool {
		return n.told(func(e quorum.Event) bool { _, is := e.(quorum.Rebuilt); return is })
	})
	if now := read(); now != right {
		s.t.Errorf("it answers %s, and it was %d bytes", now, len(right))
	}
	if role != "the leader" && n.run.Load().Position() != last {
		s.t.Error("an entry has come: this test shows nothing")
	}
	if _, err := s.nodes[0].put("after it", "k", 0); err != nil {
		s.t.Fatal(err)
	}
	s.equal(10 * time.Second)
}

func (n *node) large(i int) (txlog.Answer, error) {
	goal := fmt.Sprintf(`{"op":"put","key":"k%d","value":%q}`, i, strings.Repeat("x", 30_000))
	return n.run.Load().Goal(n.site.t.Context(), fmt.Sprint("large ", i), []byte(goal), 0)
}
