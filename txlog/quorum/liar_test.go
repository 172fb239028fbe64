package quorum_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/store"
)

// lie is a head that n1's key has signed, of an index that nobody has reached.
func (s *site) lie(index, term uint64) txlog.Head {
	at := txlog.Position{Log: s.genesis.ID(), Index: index, Term: term, Hash: txlog.Hash{1, byte(index)}}
	return txlog.Head{Position: at, State: txlog.Hash{2}, Member: "n1"}.Sign(s.nodes[0].key)
}

// spread has every node hear a head.
func (s *site) spread(h txlog.Head) {
	s.t.Helper()
	for _, n := range s.nodes {
		if err := n.run.Load().Heard(h.Encode(), "n4"); err != nil {
			s.t.Fatal(err)
		}
	}
}

// goOn has entries come for so long, and says how long after each the last node had it, at most. All must read what is fresh.
func (s *site) goOn(count int, every time.Duration, each func(i int)) (slowest time.Duration) {
	s.t.Helper()
	for i := range count {
		each(i)
		began := time.Now()
		if _, err := s.leader().count(fmt.Sprint("goal ", s.leader().run.Load().Position().Index)); err != nil {
			s.t.Fatal(err)
		}
		s.equal(time.Minute)
		slowest = max(slowest, time.Since(began))
		for _, n := range s.nodes {
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
			if _, _, err := n.run.Load().Fresh(ctx, []byte(`{"get":"count"}`)); err != nil {
				s.t.Errorf("a fresh read at %s: %v", n.name, err)
			}
			cancel()
		}
		pass(every)
	}
	return slowest
}

// A member lies, or its key is stolen: heads of indices that nobody has reached are spread.
func TestLies(t *testing.T) {
	t.Parallel()
	for name, each := range map[string]func(s *site, i int){
		"one":         func(s *site, i int) { s.once(i, s.lie(1<<40, 1)) },
		"a far term":  func(s *site, i int) { s.once(i, s.lie(1<<40, 1<<60)) },
		"ever larger": func(s *site, i int) { s.spread(s.lie(1<<40+uint64(i), 1+uint64(i))) },
		"the next":    func(s *site, i int) { s.spread(s.lie(s.nodes[0].run.Load().Position().Index+1, 1)) },
		"soon": func(s *site, i int) {
			for at := range uint64(40) {
				s.once(i, s.lie(s.nodes[0].run.Load().Position().Index+at+1, 1))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, 3, func(t *testing.T, s *site) {
				s.goes("before")
				s.equal(10 * time.Second)
				for _, every := range []time.Duration{300 * time.Millisecond, 1100 * time.Millisecond, 7 * time.Second} {
					slowest := s.goOn(runtest.ByDay(6, 12), every, func(i int) { each(s, i) })
					t.Logf("an entry each %v: the slowest took %v", every, slowest)
					if slowest > 2*time.Second {
						t.Errorf("an entry took %v to all nodes", slowest)
					}
				}
				for _, n := range s.nodes {
					st := n.run.Load().Status()
					if behind := st.Copy.Known - st.Position.Index; behind != 0 {
						t.Errorf("%s seems to be %d behind", n.name, behind)
					}
					if far := st.Copy.Doubts; (name == "one" || name == "ever larger") && (len(far) != 1 || far[0].Head.Member != "n1") {
						t.Errorf("%s doubts %+v", n.name, far)
					}
				}
			})
		})
	}
}

// once spreads a lie in the beginning.
func (s *site) once(i int, h txlog.Head) {
	if i == 0 {
		s.spread(h)
	}
}

// A member is asked for nothing, and answers: it is not believed, whatever number it repeats.
func TestAMemberThatWasNotAsked(t *testing.T) {
	bubble(t, 2, 1, func(t *testing.T, s *site) {
		one, two, n := s.raw("n1"), s.raw("n2"), s.nodes[2]
		n.fresh(t.Context())
		known := hears[wire.Confirm](one).Serial
		read := n.fresh(t.Context())
		for x := range uint64(16) {
			two.say("n3", wire.Confirmed{Serial: known ^ x})
		}
		pass(2 * round)
		select {
		case r := <-read:
			t.Errorf("n2 was believed: %+v", r)
		default:
		}
	})
}

// The leader stands still, having signed what another member has not heard of yet. A third one that lies, and does not claim to lead, has nobody
// deny it.
func TestOneLiarHasNobodyNamed(t *testing.T) {
	bubble(t, 3, 0, func(t *testing.T, s *site) {
		s.fill(3)
		s.equal(10 * time.Second)
		n := s.nodes[1]
		s.raw("n1")
		liar := s.raw("n3")
		at := n.run.Load().Position()
		if err := n.run.Load().Heard(s.lie(at.Index+2, at.Term).Encode(), "n1"); err != nil {
			t.Fatal(err)
		}
		asked := 0
		for end := time.After(20 * time.Second); ; {
			select {
			case e := <-liar.line.Inbox():
				if m, err := wire.Decode(e.Body); err == nil {
					if c, is := m.Body.(wire.Confirm); is {
						asked++
						liar.say(e.From, wire.Confirmed{Serial: c.Serial, Index: at.Index})
					}
				}
				continue
			case <-end:
			}
			break
		}
		if doubts := n.run.Load().Status().Copy.Doubts; len(doubts) > 0 || asked == 0 {
			t.Errorf("n2 has asked n3 %d times, and doubts %+v", asked, doubts)
		}
	})
}

// A follower that came by a snapshot of the newest entry knows the leader, and so has its word that a lie is one.
func TestALieAfterASnapshot(t *testing.T) {
	bubble(t, 3, 2, func(t *testing.T, s *site) {
		s.goes("before")
		given, late := s.nodes[3], s.nodes[4]
		late.kill()
		kept := func() uint64 {
			if all := given.store.View().Kept; len(all) > 0 {
				return all[len(all)-1].At.Index
			}
			return 0
		}
		for kept() < 60 {
			s.fill(1)
			pass(round)
		}
		late.store = store.NewMemory(55, s.genesis)
		for _, m := range s.nodes[:3] { // it reaches the other follower first
			s.net.Cut(m.name, late.name)
			s.net.Cut(late.name, m.name)
		}
		late.start()
		pass(3 * time.Second)
		h, found, err := s.nodes[0].store.Head(1, s.leader().run.Load().Position().Index)
		if err != nil || !found {
			t.Fatal(err)
		}
		if err := late.run.Load().Heard(h.Encode(), given.name); err != nil {
			t.Fatal(err)
		}
		s.equal(time.Minute)
		s.net.Heal()
		pass(20 * time.Second)
		s.spread(s.lie(1<<40, 1))
		pass(time.Minute)
		for _, n := range s.nodes {
			if st := n.run.Load().Status(); st.Copy.Known != st.Position.Index || st.Leader == "" {
				t.Errorf("%s names %q, is at %d and knows of %d", n.name, st.Leader, st.Position.Index, st.Copy.Known)
			}
		}
	})
}

// A node that knows no leader asks one member after the other.
func TestAllMembersAreAsked(t *testing.T) {
	bubble(t, 5, 1, func(t *testing.T, s *site) {
		n := s.nodes[5]
		n.kill()
		var all []*raw
		for _, of := range s.nodes[:5] {
			all = append(all, s.raw(of.name))
		}
		n.store = store.NewMemory(99, s.genesis)
		n.start()
		n.fresh(t.Context())
		pass(4 * time.Second)
		for i, m := range all {
			asked := false
			for len(m.line.Inbox()) > 0 {
				if b, err := wire.Decode((<-m.line.Inbox()).Body); err == nil {
					_, is := b.Body.(wire.Confirm)
					asked = asked || is
				}
			}
			if !asked {
				t.Errorf("n%d was never asked", i+1)
			}
		}
	})
}

// The answer of a member that was asked counts also when another one was asked since: on a slow network it always comes so late.
func TestAnAnswerThatComesLate(t *testing.T) {
	bubble(t, 2, 1, func(t *testing.T, s *site) {
		n := s.nodes[2]
		n.kill()
		one := s.raw("n1")
		s.raw("n2")
		n.store = store.NewMemory(99, s.genesis)
		n.start()
		read := n.fresh(t.Context())
		serial := hears[wire.Confirm](one).Serial
		pass(6 * round)
		one.say("n3", wire.Confirmed{Serial: serial})
		pass(2 * round)
		select {
		case r := <-read:
			if r.err != nil {
				t.Errorf("the read ends with %v", r.err)
			}
		default:
			t.Error("the read still waits")
		}
	})
}
