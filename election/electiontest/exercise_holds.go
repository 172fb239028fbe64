package electiontest

import (
	"time"

	"github.com/conchhq/conch/election/mint"
)

// crash ends the holder's session and lets a new one win the scope.
func (x *exercise) crash(holder mint.Session, heir string, lease time.Duration) (mint.Session, mint.Result) {
	x.Helper()
	x.h.Kill(x.T, x.mint, holder)
	s := x.open(heir)
	return s, x.want(x.succeed(s, mint.Bid{Scope: "s", Lease: lease}), mint.Won)
}

func (x *exercise) holds(r mint.Result, want time.Duration) {
	x.Helper()
	if r.Hold != want || r.Handoff != (want == 0) {
		x.Errorf("epoch %d: hold %s, handoff %v; want a hold of %s", r.Token.Epoch, r.Hold, r.Handoff, want)
	}
}

// F6: the successor of a released term has no hold.
func releaseHandsOff(x *exercise) {
	a, b := x.open("a"), x.open("b")
	first := x.win(a, "s", long)
	if first.Hold != 0 {
		x.Errorf("the first term has a hold of %s, want none", first.Hold)
	}
	x.release(a, mint.Farewell{Token: first.Token, Released: true})
	x.holds(x.win(b, "s", short), 0)
}

// F6: a term that is given up while acts run can be succeeded at once, with a hold.
func farewellWithoutPromise(x *exercise) {
	a, b := x.open("a"), x.open("b")
	t := x.win(a, "s", long).Token
	x.release(a, mint.Farewell{Token: t, Released: false, Reason: "drain timed out"})
	x.holds(x.win(b, "s", short), long)
}

// S6, S12: after a crash the hold is the longer of the two leases.
func crashHolds(x *exercise) {
	a := x.open("a")
	x.win(a, "s", medium)
	b, r := x.crash(a, "b", short)
	x.holds(r, medium)
	x.beat(b, mint.Pulse{Token: r.Token, Settle: true})
	_, r = x.crash(b, "c", long)
	x.holds(r, long)
}

// A → B → C: B dies within its hold, so C must still wait for A's gate.
func holdsChain(x *exercise) {
	a := x.open("a")
	x.win(a, "s", long)
	b, r := x.crash(a, "b", medium)
	x.holds(r, long)
	x.beat(b, mint.Pulse{Token: r.Token}) // alive, but its act door is still shut
	c, r := x.crash(b, "c", short)
	x.holds(r, long)
	// A farewell without the promise does not shorten the hold.
	x.release(c, mint.Farewell{Token: r.Token})
	x.holds(x.win(x.open("d"), "s", short), long)
}

// The successor of a term without a hold still waits for that term's lease.
func handoffStoresItsLease(x *exercise) {
	a, b := x.open("a"), x.open("b")
	t := x.win(a, "s", short).Token
	x.release(a, mint.Farewell{Token: t, Released: true})
	x.holds(x.win(b, "s", long), 0)
	_, r := x.crash(b, "c", short)
	x.holds(r, long)
}

// Once the holder's act door is open, only its own lease counts.
func settleLowers(x *exercise) {
	a := x.open("a")
	was := x.win(a, "s", long).Token
	b, r := x.crash(a, "b", medium)
	x.holds(r, long)
	if x.beat(b, mint.Pulse{Token: was, Settle: true})[0] {
		x.Fatal("a term that is over was renewed")
	}
	c, r := x.crash(b, "c", medium)
	x.holds(r, long) // the heartbeat of the dead term has not lowered it
	if !x.beat(c, mint.Pulse{Token: r.Token, Settle: true})[0] {
		x.Fatal("the current term was not renewed")
	}
	_, r = x.crash(c, "d", short)
	x.holds(r, medium)
}

// A candidate with another takeover than the term's can win only after a release.
func takeoverMustAgree(x *exercise) {
	strict := mint.Candidate{ID: "a", Lease: medium, Takeover: mint.Strict}
	a := x.candidate(strict)
	fast := x.candidate(mint.Candidate{ID: "f", Lease: medium, Takeover: mint.Fast})
	x.win(a, "s", medium)
	refused := func() {
		x.Helper()
		if r := x.want(x.bid(fast, "s"), mint.Refused); r.Why == nil {
			x.Error("a refused bid got no Why")
		}
	}
	refused()
	b, r := x.crash(a, "b", medium)
	refused()
	x.release(b, mint.Farewell{Token: r.Token}) // without the promise
	refused()
	// A refused candidate must not keep the others out.
	c := x.open("c")
	x.release(c, mint.Farewell{Token: x.win(c, "s", medium).Token, Released: true})
	t := x.win(fast, "s", medium).Token
	x.want(x.bid(c, "s"), mint.Refused)
	x.release(fast, mint.Farewell{Token: t, Released: true})
	x.win(c, "s", medium)
}

// F6: after a transfer only the named candidate can win at first.
func transferYields(x *exercise) {
	a, b, c := x.open("a"), x.open("b"), x.open("c")
	t := x.win(a, "s", medium).Token
	x.release(a, mint.Farewell{Token: t, Released: true, To: "c", Actor: "somebody"})
	x.want(x.bid(b, "s"), mint.Yield)
	x.want(x.bid(a, "s"), mint.Yield)
	x.holds(x.win(c, "s", medium), 0)
	r := x.want(x.bid(b, "s"), mint.Held)
	if r.Holder != "c" {
		x.Errorf("held by %q, want c", r.Holder)
	}
}

// If the named candidate does not come, the others need not wait for long.
func transferLapses(x *exercise) {
	a, b := x.open("a"), x.open("b")
	t := x.win(a, "s", medium).Token
	x.release(a, mint.Farewell{Token: t, Released: true, To: "nobody"})
	x.want(x.bid(b, "s"), mint.Yield)
	var r mint.Result
	x.until("the others may win again", soon, func() bool {
		r = x.bid(b, "s")
		return r.Outcome != mint.Yield
	})
	x.holds(x.want(r, mint.Won), 0)
}
