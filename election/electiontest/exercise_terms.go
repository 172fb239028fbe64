package electiontest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// S9: the epoch grows by one, the token says all there is to say.
func epochsGrow(x *exercise) {
	var last fence.Token
	for i, id := range []string{"a", "b", "a"} {
		s := x.open(id)
		t := x.win(s, "s", medium).Token
		switch {
		case t.Scope != "s" || t.Holder != id || t.Epoch != int64(i+1):
			x.Fatalf("token %+v, want epoch %d of s for %s", t, i+1, id)
		case t.Term == fence.Term{} || t.Term == last.Term:
			x.Fatalf("term %s after %s", t.Term, last.Term)
		case t.System == 0 || t.Timeline == 0:
			x.Fatalf("the token does not name its database history: %+v", t)
		case i > 0 && (t.System != last.System || t.Timeline != last.Timeline):
			x.Fatalf("the history changed from %+v to %+v", last, t)
		}
		last = t
		x.release(s, election.Farewell{Token: t, Released: true, Reason: "test"})
	}
}

// S4: whoever comes second learns who leads and whom to wait for.
func exclusive(x *exercise) {
	a, b := x.open("a"), x.open("b")
	if a.Process() == 0 || a.Process() == b.Process() {
		x.Fatalf("process keys %d and %d", a.Process(), b.Process())
	}
	t := x.win(a, "s", medium).Token
	for range 3 {
		r := x.want(x.bid(b, "s"), election.Held)
		if r.Holder != "a" || r.Process != a.Process() {
			x.Fatalf("held by %q, process %d, want a, %d", r.Holder, r.Process, a.Process())
		}
	}
	if !x.beat(a, election.Pulse{Token: t})[0] {
		x.Fatal("bids of others ended the term")
	}
	x.win(b, "another", medium)
}

// S4, S9: sessions that fight over one scope never lead together, and no epoch
// is given out twice.
func contest(x *exercise) {
	const fighters, rounds = 4, 15
	var leading atomic.Int32
	var mu sync.Mutex
	seen := map[int64]string{}
	var highest int64
	var all sync.WaitGroup
	for i := range fighters {
		id := string(rune('a' + i))
		s := x.open(id)
		all.Go(func() {
			for won := 0; won < rounds && x.Context().Err() == nil && !x.Failed(); {
				rs, err := s.Try(x.Context(), []election.Bid{{Scope: "s", Lease: medium}})
				if err != nil {
					x.Errorf("%s: try: %v", id, err)
					return
				}
				if rs[0].Outcome != election.Won {
					_ = sleep(x.Context(), time.Millisecond)
					continue
				}
				won++
				if leading.Add(1) != 1 {
					x.Errorf("%s won epoch %d while another leads", id, rs[0].Token.Epoch)
				}
				mu.Lock()
				if e := rs[0].Token.Epoch; seen[e] != "" || e <= highest {
					x.Errorf("%s got epoch %d after %d, which %q had", id, e, highest, seen[e])
				}
				highest = rs[0].Token.Epoch
				seen[highest] = id
				mu.Unlock()
				leading.Add(-1)
				if _, err := s.Release(x.Context(), []election.Farewell{{Token: rs[0].Token, Released: true}}); err != nil {
					x.Errorf("%s: release: %v", id, err)
					return
				}
			}
		})
	}
	all.Wait()
	if highest != fighters*rounds {
		x.Errorf("the last epoch is %d after %d terms", highest, fighters*rounds)
	}
}

// F1: one try bids for many scopes; the answers stand in the order of the bids.
func batchInOrder(x *exercise) {
	a, b := x.open("a"), x.open("b")
	x.win(a, "m", medium)
	rs := x.try(b,
		election.Bid{Scope: "z", Lease: medium}, election.Bid{Scope: "m", Lease: medium},
		election.Bid{Scope: "a", Lease: short}, election.Bid{Scope: "k", Lease: long})
	for i, o := range []election.Outcome{election.Won, election.Held, election.Won, election.Won} {
		x.want(rs[i], o)
	}
	alive := x.beat(b, election.Pulse{Token: rs[3].Token}, election.Pulse{Token: rs[0].Token}, election.Pulse{Token: rs[2].Token})
	for i, ok := range alive {
		if !ok {
			x.Errorf("pulse %d of three is refused", i)
		}
	}
	if got := x.beat(b); len(got) != 0 {
		x.Errorf("a beat without pulses answers %v", got)
	}
}

// A session that lost track of its term and bids again gets a new one, and
// waits as for any other predecessor.
func rebidOfTheHolder(x *exercise) {
	a := x.open("a")
	first := x.win(a, "s", medium).Token
	again := x.win(a, "s", short)
	if again.Token.Epoch != first.Epoch+1 || again.Token.Term == first.Term {
		x.Fatalf("%s after %s", again.Token, first)
	}
	if again.Hold != medium || again.Handoff {
		x.Errorf("hold %s, handoff %v: the earlier term was never released", again.Hold, again.Handoff)
	}
	alive := x.beat(a, election.Pulse{Token: first}, election.Pulse{Token: again.Token})
	if alive[0] || !alive[1] {
		x.Errorf("beats under the old and the new term: %v", alive)
	}
}

// D4: the term is in the predicate, not the holder's name.
func oldTermRefused(x *exercise) {
	old := x.open("a")
	was := x.win(old, "s", medium).Token
	x.h.Kill(x.T, x.mint, old)
	a := x.open("a")
	is := x.want(x.succeed(a, election.Bid{Scope: "s", Lease: medium}), election.Won).Token
	for range 2 {
		alive := x.beat(a, election.Pulse{Token: was, Settle: true}, election.Pulse{Token: is})
		if alive[0] || !alive[1] {
			x.Fatalf("beats of one holder under its old and its new term: %v", alive)
		}
	}
}

func oldFarewellIgnored(x *exercise) {
	a, b := x.open("a"), x.open("b")
	was := x.win(a, "s", medium).Token
	is := x.win(a, "s", medium).Token
	if x.parts(b, election.Farewell{Token: was, Released: true, To: "b"}) {
		x.Error("a term that has been replaced is told to be current")
	}
	if !x.beat(a, election.Pulse{Token: is})[0] {
		x.Fatal("a farewell under the old term ended the new one")
	}
	x.want(x.bid(b, "s"), election.Held)
	x.h.Kill(x.T, x.mint, a)
	r := x.want(x.succeed(b, election.Bid{Scope: "s", Lease: medium}), election.Won)
	if r.Hold < medium || r.Handoff {
		x.Errorf("hold %s, handoff %v: a farewell under the old term released the new one", r.Hold, r.Handoff)
	}
}

// S6: a session that is over says so, frees what it held, and can be closed again.
func endedSession(x *exercise) {
	for _, end := range []func(election.Session){
		func(s election.Session) { _ = s.Close() },
		func(s election.Session) { x.h.Kill(x.T, x.mint, s) },
	} {
		s := x.open("a")
		t := x.want(x.succeed(s, election.Bid{Scope: "s", Lease: medium}), election.Won).Token
		end(s)
		if _, err := s.Beat(x.Context(), []election.Pulse{{Token: t}}); !errors.Is(err, election.ErrSessionLost) {
			x.Errorf("beat on an ended session: %v", err)
		}
		if _, err := s.Try(x.Context(), []election.Bid{{Scope: "s", Lease: medium}}); !errors.Is(err, election.ErrSessionLost) {
			x.Errorf("try on an ended session: %v", err)
		}
		if _, err := s.Release(x.Context(), []election.Farewell{{Token: t}}); !errors.Is(err, election.ErrSessionLost) {
			x.Errorf("release on an ended session: %v", err)
		}
		_ = s.Close()
	}
	c := x.open("c")
	x.win(c, "t", medium)
	if err := c.Close(); err != nil {
		x.Errorf("close: %v", err)
	}
	x.win(x.open("d"), "t", medium) // at once: Close had freed it
}
