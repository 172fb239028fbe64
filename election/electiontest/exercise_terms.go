package electiontest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

// S9: the epoch grows by one, and the token is complete.
func epochsGrow(x *exercise) {
	var last fence.Token
	for i, id := range []string{"a", "b", "a"} {
		s := x.open(id)
		t := x.win(s, "s", medium).Token
		switch {
		case t.Scope != "s" || t.Holder != id || t.Epoch != int64(i+1):
			x.Fatalf("token %+v, want epoch %d of s for %s", t, i+1, id)
		case t.Term == fence.Term{} || t.Term == last.Term:
			x.Fatalf("term %s after %s, want a new one", t.Term, last.Term)
		case t.System == 0 || t.Timeline == 0:
			x.Fatalf("the token does not name its database history: %+v", t)
		case i > 0 && (t.System != last.System || t.Timeline != last.Timeline):
			x.Fatalf("the history changed from %+v to %+v", last, t)
		}
		last = t
		x.release(s, mint.Farewell{Token: t, Released: true, Reason: "test"})
	}
}

// S4: a losing bid names the holder and its process key.
func exclusive(x *exercise) {
	a, b := x.open("a"), x.open("b")
	if a.Process() == 0 || a.Process() == b.Process() {
		x.Fatalf("process keys %d and %d, want two that differ and are not 0", a.Process(), b.Process())
	}
	t := x.win(a, "s", medium).Token
	for range 3 {
		r := x.want(x.bid(b, "s"), mint.Held)
		if r.Holder != "a" || r.Process != a.Process() {
			x.Fatalf("held by %q, process %d, want a, %d", r.Holder, r.Process, a.Process())
		}
	}
	if !x.beat(a, mint.Pulse{Token: t})[0] {
		x.Fatal("a bid of another session ended the term")
	}
	x.win(b, "another", medium)
}

// S4, S9: sessions that compete for one scope never lead together, and no epoch is minted twice.
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
				rs, err := s.Try(x.Context(), []mint.Bid{{Scope: "s", Lease: medium}})
				if err != nil {
					x.Errorf("%s: try: %v", id, err)
					return
				}
				if rs[0].Outcome != mint.Won {
					_ = pause.For(x.Context(), time.Millisecond)
					continue
				}
				won++
				if leading.Add(1) != 1 {
					x.Errorf("%s won epoch %d while another leads", id, rs[0].Token.Epoch)
				}
				mu.Lock()
				if e := rs[0].Token.Epoch; seen[e] != "" || e <= highest {
					x.Errorf("%s won epoch %d after %d; it was won before by %q", id, e, highest, seen[e])
				}
				highest = rs[0].Token.Epoch
				seen[highest] = id
				mu.Unlock()
				leading.Add(-1)
				if _, err := s.Release(x.Context(), []mint.Farewell{{Token: rs[0].Token, Released: true}}); err != nil {
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

// F1: one call bids for many scopes; the answers are in the order of the bids.
func batchInOrder(x *exercise) {
	a, b := x.open("a"), x.open("b")
	x.win(a, "m", medium)
	rs := x.try(b,
		mint.Bid{Scope: "z", Lease: medium}, mint.Bid{Scope: "m", Lease: medium},
		mint.Bid{Scope: "a", Lease: short}, mint.Bid{Scope: "k", Lease: long})
	for i, o := range []mint.Outcome{mint.Won, mint.Held, mint.Won, mint.Won} {
		x.want(rs[i], o)
	}
	alive := x.beat(b, mint.Pulse{Token: rs[3].Token}, mint.Pulse{Token: rs[0].Token}, mint.Pulse{Token: rs[2].Token})
	for i, ok := range alive {
		if !ok {
			x.Errorf("pulse %d of three was not renewed", i)
		}
	}
	if got := x.beat(b); len(got) != 0 {
		x.Errorf("a beat without pulses answers %v, want nothing", got)
	}
}

// A holder that bids again gets a new term, with a hold as after any other predecessor.
func rebidOfTheHolder(x *exercise) {
	a := x.open("a")
	first := x.win(a, "s", medium).Token
	again := x.win(a, "s", short)
	if again.Token.Epoch != first.Epoch+1 || again.Token.Term == first.Term {
		x.Fatalf("token %s after %s, want the next epoch and a new term", again.Token, first)
	}
	if again.Hold != medium || again.Handoff {
		x.Errorf("hold %s, handoff %v: the earlier term was never released", again.Hold, again.Handoff)
	}
	alive := x.beat(a, mint.Pulse{Token: first}, mint.Pulse{Token: again.Token})
	if alive[0] || !alive[1] {
		x.Errorf("renewed under the old and the new term: %v, want the new one only", alive)
	}
}

// D4: a heartbeat is matched by the term, not by the holder's name.
func oldTermRefused(x *exercise) {
	old := x.open("a")
	was := x.win(old, "s", medium).Token
	x.h.Kill(x.T, x.mint, old)
	a := x.open("a")
	is := x.want(x.succeed(a, mint.Bid{Scope: "s", Lease: medium}), mint.Won).Token
	for range 2 {
		alive := x.beat(a, mint.Pulse{Token: was, Settle: true}, mint.Pulse{Token: is})
		if alive[0] || !alive[1] {
			x.Fatalf("renewed under the old and the new term of one holder: %v, want the new one only", alive)
		}
	}
}

func oldFarewellIgnored(x *exercise) {
	a, b := x.open("a"), x.open("b")
	was := x.win(a, "s", medium).Token
	is := x.win(a, "s", medium).Token
	if x.parts(b, mint.Farewell{Token: was, Released: true, To: "b"}) {
		x.Error("the farewell of a replaced term got Said, want Over")
	}
	if !x.beat(a, mint.Pulse{Token: is})[0] {
		x.Fatal("a farewell under the old term ended the new one")
	}
	x.want(x.bid(b, "s"), mint.Held)
	x.h.Kill(x.T, x.mint, a)
	r := x.want(x.succeed(b, mint.Bid{Scope: "s", Lease: medium}), mint.Won)
	if r.Hold < medium || r.Handoff {
		x.Errorf("hold %s, handoff %v: a farewell under the old term released the new one", r.Hold, r.Handoff)
	}
}

// S6: a session that has ended says so, has freed its scopes, and can be closed again.
func endedSession(x *exercise) {
	for _, end := range []func(mint.Session){
		func(s mint.Session) { _ = s.Close() },
		func(s mint.Session) { x.h.Kill(x.T, x.mint, s) },
	} {
		s := x.open("a")
		t := x.want(x.succeed(s, mint.Bid{Scope: "s", Lease: medium}), mint.Won).Token
		end(s)
		if _, err := s.Beat(x.Context(), []mint.Pulse{{Token: t}}); !errors.Is(err, mint.ErrSessionLost) {
			x.Errorf("beat on an ended session: %v, want ErrSessionLost", err)
		}
		if _, err := s.Try(x.Context(), []mint.Bid{{Scope: "s", Lease: medium}}); !errors.Is(err, mint.ErrSessionLost) {
			x.Errorf("try on an ended session: %v, want ErrSessionLost", err)
		}
		if _, err := s.Release(x.Context(), []mint.Farewell{{Token: t}}); !errors.Is(err, mint.ErrSessionLost) {
			x.Errorf("release on an ended session: %v, want ErrSessionLost", err)
		}
		_ = s.Close()
	}
	c := x.open("c")
	x.win(c, "t", medium)
	if err := c.Close(); err != nil {
		x.Errorf("close: %v", err)
	}
	x.win(x.open("d"), "t", medium) // at once, since Close has freed it
}
