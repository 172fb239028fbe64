package electiontest

import (
	"errors"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// fenced begins a fenced transaction, whose token must pass.
func (x *exercise) fenced(t fence.Token) (commit func() error) {
	x.Helper()
	commit, err := x.h.Fence(x.T, x.mint, t)
	if err != nil {
		x.Fatalf("the fence refuses the current token %s: %v", t, err)
	}
	return commit
}

func (x *exercise) stale(t fence.Token, what string) {
	x.Helper()
	if _, err := x.h.Fence(x.T, x.mint, t); !errors.Is(err, fence.ErrStale) {
		x.Errorf("the fence answers %s with %v, want ErrStale", what, err)
	}
}

// S15: the current token passes, also in several transactions at a time, in each term.
func fencePasses(x *exercise) {
	for _, id := range []string{"a", "b"} {
		s := x.open(id)
		t := x.win(s, "s", medium).Token
		one, two := x.fenced(t), x.fenced(t)
		if err := errors.Join(two(), one()); err != nil {
			x.Errorf("commit under the current token: %v", err)
		}
		x.release(s, mint.Farewell{Token: t, Released: true})
	}
}

// S15: every other token is refused.
func fenceRefuses(x *exercise) {
	a := x.open("a")
	was := x.win(a, "s", medium).Token
	is := x.win(a, "s", medium).Token
	x.stale(was, "the token of the previous term")
	forged := is
	forged.Epoch = was.Epoch
	x.stale(forged, "an old epoch under the current term")
	forged = is
	forged.Term = was.Term
	x.stale(forged, "an old term with the current epoch")
	forged = is
	forged.Epoch++
	x.stale(forged, "an epoch yet to come")
	forged = is
	forged.Scope = "unknown"
	x.stale(forged, "a scope without a leader so far")
	if err := x.fenced(is)(); err != nil {
		x.Errorf("commit under the current token: %v", err)
	}
	x.release(a, mint.Farewell{Token: is, Released: true})
	x.stale(is, "the token of a term that was given up")
}

// While a transaction holds the fence, no bid wins the scope.
func fenceKeepsTheMintOut(x *exercise) {
	a, b, c := x.open("a"), x.open("b"), x.open("c")
	t := x.win(a, "s", medium).Token
	commit := x.fenced(t)
	x.h.Kill(x.T, x.mint, a)
	r := x.want(x.succeed(b, mint.Bid{Scope: "s", Lease: medium}), mint.Busy)
	if len(r.Blockers) != 0 {
		x.Errorf("a bid that must not evict ended %+v", r.Blockers)
	}
	if r := x.bid(c, "s"); r.Outcome == mint.Won {
		x.Fatal("a bid won while a transaction held the fence")
	}
	start := time.Now()
	x.want(x.try(b, mint.Bid{Scope: "s", Lease: medium, Block: 200 * time.Millisecond})[0], mint.Busy)
	if took := time.Since(start); took < 150*time.Millisecond || took > soon {
		x.Errorf("a bid that may block for 200ms took %s", took)
	}
	if err := commit(); err != nil {
		x.Fatalf("commit of the transaction that holds the fence: %v", err)
	}
	r = x.want(x.try(b, mint.Bid{Scope: "s", Lease: medium, Block: 200 * time.Millisecond})[0], mint.Won)
	if r.Token.Epoch != t.Epoch+1 {
		x.Errorf("epoch %d after %d, want the next", r.Token.Epoch, t.Epoch)
	}
	x.stale(t, "the token of the predecessor")
}

// A transaction that holds the fence for longer than a lease is ended and named, and cannot
// commit. A younger one is left alone (R2).
func evictEndsIt(x *exercise) {
	a, b := x.open("a"), x.open("b")
	t := x.win(a, "s", medium).Token
	commit := x.fenced(t)
	x.h.Kill(x.T, x.mint, a)
	x.want(x.succeed(b, mint.Bid{Scope: "s", Lease: medium}), mint.Busy)
	if r := x.try(b, mint.Bid{Scope: "s", Lease: time.Minute, Block: time.Millisecond, Evict: true})[0]; len(r.Blockers) > 0 {
		x.Errorf("a bid ended a transaction within its lease: %+v", r.Blockers)
	}
	var ended []mint.Blocker
	x.until("the blocker is gone", soon, func() bool {
		r := x.try(b, mint.Bid{Scope: "s", Lease: 300 * time.Millisecond, Block: 100 * time.Millisecond, Evict: true})[0]
		ended = append(ended, r.Blockers...)
		return r.Outcome == mint.Won
	})
	if len(ended) == 0 || ended[0].PID == 0 || ended[0].Query == "" || !ended[0].Ended || ended[0].What == "" {
		x.Errorf("evicted %+v, want one blocker with PID, Query, What and Ended", ended)
	}
	if err := commit(); err == nil {
		x.Error("an evicted transaction committed")
	}
}

// A busy scope delays no other scope of the same call.
func busyDelaysNoOther(x *exercise) {
	a, b := x.open("a"), x.open("b")
	var t fence.Token
	bids := []mint.Bid{{Scope: "p", Lease: medium}, {Scope: "q", Lease: medium}, {Scope: "r", Lease: medium}}
	for _, r := range x.try(a, bids...) {
		if x.want(r, mint.Won); r.Scope == "q" {
			t = r.Token
		}
	}
	commit := x.fenced(t)
	x.h.Kill(x.T, x.mint, a)
	x.until("the scopes of the dead session are free", soon, func() bool {
		r := x.try(b, bids[1])[0]
		return r.Outcome != mint.Held
	})
	rs := x.try(b, bids...)
	x.want(rs[0], mint.Won)
	x.want(rs[1], mint.Busy)
	x.want(rs[2], mint.Won)
	if err := commit(); err != nil {
		x.Errorf("commit: %v", err)
	}
	x.want(x.bid(b, "q"), mint.Won)
}
