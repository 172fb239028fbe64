package electiontest

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/pause"
)

// other opens a candidate whose session uses the other kind of locks.
func (x *exercise) other(id string) mint.Session {
	x.Helper()
	if x.beside == nil {
		if x.h.Beside == nil {
			x.Skip("this harness has mints with one kind of locks only")
		}
		x.beside = x.h.Beside(x.T, x.mint)
	}
	s, err := x.beside.Open(x.Context(), mint.Candidate{ID: id, Lease: medium, Takeover: mint.Strict})
	if err != nil {
		x.Fatalf("open %q: %v", id, err)
	}
	x.Cleanup(func() { _ = s.Close() })
	return s
}

// over fails if the term is renewed: its session must answer Over, or be lost.
func (x *exercise) over(s mint.Session, p mint.Pulse) {
	x.Helper()
	alive, err := s.Beat(x.Context(), []mint.Pulse{p})
	if err == nil && alive[0] != mint.Over || err != nil && !errors.Is(err, mint.ErrSessionLost) {
		x.Errorf("a heartbeat of a term that is over got %v, %v; want Over or ErrSessionLost", alive, err)
	}
}

// Candidates with different locks exclude each other, and a losing bid keeps no lock.
func mixedExclusive(x *exercise) {
	a, b, c := x.open("a"), x.other("b"), x.open("c")
	t := x.win(a, "s", medium).Token
	u := x.win(b, "u", medium).Token
	for range 3 {
		if r := x.want(x.bid(b, "s"), mint.Held); r.Holder != "a" || r.Process != a.Process() {
			x.Errorf("held by %q, process %d", r.Holder, r.Process)
		}
		if r := x.want(x.bid(a, "u"), mint.Held); r.Holder != "b" || r.Process != b.Process() {
			x.Errorf("held by %q, process %d", r.Holder, r.Process)
		}
	}
	if !x.beat(a, mint.Pulse{Token: t})[0] || !x.beat(b, mint.Pulse{Token: u})[0] {
		x.Error("a bid of another session ended a term")
	}
	x.h.Kill(x.T, x.mint, b)
	r := x.want(x.succeed(c, mint.Bid{Scope: "u", Lease: medium}), mint.Won)
	x.holds(r, medium)
	x.want(x.bid(a, "u"), mint.Held)
}

// Candidates with different locks succeed each other with the usual holds.
func mixedSuccession(x *exercise) {
	a, b := x.open("a"), x.other("b")
	was := x.win(a, "s", long)
	x.h.Kill(x.T, x.mint, a)
	r := x.want(x.succeed(b, mint.Bid{Scope: "s", Lease: short}), mint.Won)
	x.holds(r, long)
	x.over(b, mint.Pulse{Token: was.Token, Settle: true})
	x.stale(was.Token, "the token of the predecessor")
	x.release(b, mint.Farewell{Token: r.Token, Released: false}) // without the promise
	c := x.open("c")
	r = x.win(c, "s", short)
	x.holds(r, long)
	gone := r.Token
	x.release(c, mint.Farewell{Token: gone, Released: true})
	d := x.other("d")
	x.holds(x.win(d, "s", medium), 0)
	x.over(c, mint.Pulse{Token: gone})
	x.h.Kill(x.T, x.mint, d)
	x.holds(x.want(x.succeed(c, mint.Bid{Scope: "s", Lease: short}), mint.Won), medium)
}

// S4: sessions with different locks compete for a scope, and never lead together.
func mixedContest(x *exercise) {
	const rounds = 12
	fighters := []mint.Session{x.open("a"), x.other("b"), x.open("c"), x.other("d")}
	var leading atomic.Int32
	var highest atomic.Int64
	var all sync.WaitGroup
	for _, s := range fighters {
		all.Go(func() {
			for won := 0; won < rounds && x.Context().Err() == nil && !x.Failed(); {
				rs, err := s.Try(x.Context(), []mint.Bid{{Scope: "s", Lease: medium}})
				if err != nil {
					x.Errorf("try: %v", err)
					return
				}
				if rs[0].Outcome != mint.Won {
					_ = pause.For(x.Context(), time.Millisecond)
					continue
				}
				won++
				if leading.Add(1) != 1 {
					x.Error("two sessions lead at once")
				}
				if e := rs[0].Token.Epoch; highest.Swap(e) >= e {
					x.Errorf("epoch %d is not above the last one", e)
				}
				leading.Add(-1)
				if _, err := s.Release(x.Context(), []mint.Farewell{{Token: rs[0].Token, Released: true}}); err != nil {
					x.Errorf("release: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	if want := int64(rounds * len(fighters)); highest.Load() != want {
		x.Errorf("the last epoch is %d after %d terms", highest.Load(), want)
	}
}

// A session that lives, but whose locks were freed, is replaced like a dead one: with a hold,
// and its terms are over. It cannot win anything either.
func unlockedIsReplaced(x *exercise) {
	if x.h.Unlock == nil {
		x.Skip("this harness cannot free the locks of a session that lives")
	}
	a, b := x.open("a"), x.open("b")
	rs := x.try(a, mint.Bid{Scope: "s", Lease: medium}, mint.Bid{Scope: "t", Lease: medium})
	s, t := rs[0].Token, rs[1].Token
	x.h.Unlock(x.T, x.mint, a)
	if alive := x.beat(a, mint.Pulse{Token: s}, mint.Pulse{Token: t}); !alive[0] || !alive[1] {
		x.Error("the terms were not renewed, although no other session has won their scopes")
	}
	r := x.want(x.succeed(b, mint.Bid{Scope: "s", Lease: short}), mint.Won)
	x.holds(r, medium)
	x.over(a, mint.Pulse{Token: s})
	if _, err := a.Try(x.Context(), []mint.Bid{{Scope: "v", Lease: medium}}); !errors.Is(err, mint.ErrSessionLost) {
		x.Errorf("a bid of a process with a tombstone: %v, want ErrSessionLost", err)
	}
	if !x.beat(b, mint.Pulse{Token: r.Token})[0] {
		x.Error("the successor's term was not renewed")
	}
}

// A process whose session was cut off says farewell over its next session, while the old one
// may still live. The old session must not share the scope with the successor.
func lateFarewell(x *exercise) {
	old, again, b := x.open("a"), x.open("a"), x.open("b")
	t := x.win(old, "s", medium).Token
	x.want(x.bid(again, "s"), mint.Held)
	x.release(again, mint.Farewell{Token: t, Released: true, Reason: "session lost"})
	var r mint.Result
	if r = x.try(b, mint.Bid{Scope: "s", Lease: medium})[0]; r.Outcome == mint.Held {
		_ = old.Close() // the mint may require its end first
		r = x.succeed(b, mint.Bid{Scope: "s", Lease: medium})
	}
	x.holds(x.want(r, mint.Won), 0)
	x.over(old, mint.Pulse{Token: t})
	if !x.beat(b, mint.Pulse{Token: r.Token})[0] {
		x.Error("the successor's term was not renewed")
	}
}

// An advance of the epoch deposes the leader, whose heartbeat and fence then fail.
func advanceDeposes(x *exercise) {
	if x.h.Advance == nil {
		x.Skip("this harness cannot advance an epoch")
	}
	a, b := x.open("a"), x.open("b")
	t := x.win(a, "s", medium).Token
	x.h.Advance(x.T, x.mint, "s")
	x.over(a, mint.Pulse{Token: t})
	x.stale(t, "a token from before the advance")
	_ = a.Close() // as an elector does
	r := x.want(x.succeed(b, mint.Bid{Scope: "s", Lease: short}), mint.Won)
	x.holds(r, medium)
	if r.Token.Epoch <= t.Epoch+1 {
		x.Errorf("epoch %d after epoch %d and an advance, want at least 2 more", r.Token.Epoch, t.Epoch)
	}
	// Advancing a scope without a leader does not harm its last holder.
	u := x.win(b, "u", medium).Token
	v := x.win(b, "v", medium).Token
	x.release(b, mint.Farewell{Token: u, Released: true})
	x.h.Advance(x.T, x.mint, "u")
	if !x.beat(b, mint.Pulse{Token: v})[0] {
		x.Error("advancing a scope that was given up ended another term")
	}
	x.holds(x.win(x.open("c"), "u", medium), 0)
}
