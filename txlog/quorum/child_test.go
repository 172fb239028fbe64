package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/store"
)

// A log that goes on from another one, whose majority was lost, begins where that one ended: its members have the first state,
// and a node from nothing fetches it.
func TestALogWithAParent(t *testing.T) {
	bubble(t, 3, 1, func(t *testing.T, s *site) {
		s.fill(30)
		s.equal(3 * time.Second)
		for _, n := range s.nodes {
			n.kill()
		}
		old, err := store.Load(s.nodes[0].store, kv.New)
		if err != nil {
			t.Fatal(err)
		}
		g := s.genesis
		child, err := old.Child(g)
		if err != nil {
			t.Fatal(err)
		}
		s.genesis = child.Genesis()
		for i, n := range s.nodes {
			n.store = store.NewMemory(uint64(i+1), s.genesis)
			if i == 0 || i == 1 { // the third member and the follower have nothing
				if err := n.store.Keep(child.Position(), child.Snapshot(), store.Step{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		liar := s.raw("n1")
		for _, n := range s.nodes[2:] { // what has nothing says nothing
			n.start()
			if answer, _, err := n.run.Load().Query(t.Context(), []byte(`{"get":"count"}`)); !errors.Is(err, txlog.ErrUnknown) {
				t.Errorf("%s has no state, and says %s, %v", n.name, answer, err)
			}
			if n.run.Load().Status().Decides {
				t.Errorf("%s has no state, and decides", n.name)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			read := n.fresh(ctx)
			serial := hears[wire.Confirm](liar).Serial
			liar.say(n.name, wire.Confirmed{Serial: serial, Index: child.Position().Index})
			if r := <-read; !errors.Is(r.err, txlog.ErrUnknown) {
				t.Errorf("%s has no state, and reads %+v", n.name, r)
			}
			cancel()
			n.kill()
		}
		for _, n := range s.nodes[:2] {
			n.start()
		}
		for i := range 20 {
			if a, err := s.nodes[i%2].count(fmt.Sprint("child ", i)); err != nil || a.Index <= old.Position().Index {
				t.Fatalf("%+v, %v", a, err)
			}
		}
		if a, err := s.nodes[0].count("child 3"); err != nil || string(a.Result) == "" {
			t.Errorf("%+v, %v", a, err)
		}
		for _, n := range s.nodes[2:] {
			n.start()
		}
		s.equal(20 * time.Second)
		if h, found, err := s.nodes[3].store.Head(1, child.Position().Index); found || err != nil {
			t.Errorf("it keeps a head that nobody has signed: %+v, %v", h, err)
		}
		s.nodes[1].kill() // now nothing is committed without the third member
		s.goes("after it")
		s.equal(20 * time.Second)
		answer, _, err := s.nodes[3].run.Load().Query(t.Context(), []byte(`{"get":"count"}`))
		if want := `{"key":"count","value":50,"found":true}`; err != nil || string(answer) != want {
			t.Errorf("%s, %v", answer, err)
		}
	})
}
