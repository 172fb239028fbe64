package electiontest

import (
	"time"

	"github.com/conchhq/conch/election"
)

// crash ends the holder's session and lets another take over.
func (x *exercise) crash(holder election.Session, heir string, lease time.Duration) (election.Session, election.Result) {
	x.Helper()
	x.h.Kill(x.T, x.mint, holder)
	s := x.open(heir)
	return s, x.want(x.succeed(s, election.Bid{Scope: "s", Lease: lease}), election.Won)
}

func (x *exercise) holds(r election.Result, want time.Duration) {
	x.Helper()
	if r.Hold != want || r.Handoff != (want == 0) {
		x.Errorf("epoch %d: hold %s, handoff %v; want a hold of %s", r.Token.Epoch, r.Hold, r.Handoff, want)
	}
}

// F6: whoever follows a release need not wait.
func releaseHandsOff(x *exercise) {
	a, b := x.open("a"), x.open("b")
	first := x.win(a, "s", long)
	if first.Hold != 0 {
		x.Errorf("the first term of all waits %s for nobody", first.Hold)
	}
	x.release(a, election.Farewell{Token: first.Token, Released: true})
	x.holds(x.win(b, "s", short), 0)
}

// F6: giving up while acts still run lets the next bid in, which then waits.
func farewellWithoutPromise(x *exercise) {
	a, b := x.open("a"), x.open("b")
	t := x.win(a, "s", long).Token
	x.release(a, election.Farewell{Token: t, Released: false, Reason: "drain timed out"})
	x.holds(x.win(b, "s", short), long)
}

// S6, S12: after a crash the hold is the longer of the two leases.
func crashHolds(x *exercise) {
	a := x.open("a")
	x.win(a, "s", medium)
	b, r := x.crash(a, "b", short)
	x.holds(r, medium)
	x.beat(b, election.Pulse{Token: r.Token, Settle: true})
	_, r = x.crash(b, "c", long)
	x.holds(r, long)
}

// A → B → C, each dying within its own hold: A's gate is what C waits for.
func holdsChain(x *exercise) {
	a := x.open("a")
	x.win(a, "s", long)
	b, r := x.crash(a, "b", medium)
	x.holds(r, long)
	x.beat(b, election.Pulse{Token: r.Token}) // alive, but its act door is still shut
	c, r := x.crash(b, "c", short)
	x.holds(r, long)
	// And giving up without the promise shortens nothing.
	x.release(c, election.Farewell{Token: r.Token})
	x.holds(x.win(x.open("d"), "s", short), long)
}

// A term that waited for nobody is waited for nevertheless.
func handoffStoresItsLease(x *exercise) {
	a, b := x.open("a"), x.open("b")
	t := x.win(a, "s", short).Token
	x.release(a, election.Farewell{Token: t, Released: true})
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
	if x.beat(b, election.Pulse{Token: was, Settle: true})[0] {
		x.Fatal("a dead term beats")
	}
	c, r := x.crash(b, "c", medium)
	x.holds(r, long) // settling the dead term lowered nothing
	if !x.beat(c, election.Pulse{Token: r.Token, Settle: true})[0] {
		x.Fatal("the current term does not beat")
	}
	_, r = x.crash(c, "d", short)
	x.holds(r, medium)
}

// All candidates of a scope agree on the takeover, or wait for a release.
func takeoverMustAgree(x *exercise) {
	strict := election.Candidate{ID: "a", Lease: medium, Takeover: election.Strict}
	a := x.candidate(strict)
	fast := x.candidate(election.Candidate{ID: "f", Lease: medium, Takeover: election.Fast})
	x.win(a, "s", medium)
	refused := func() {
		x.Helper()
		if r := x.want(x.bid(fast, "s"), election.Refused); r.Why == nil {
			x.Error("a refusal without a why")
		}
	}
	refused()
	b, r := x.crash(a, "b", medium)
	refused()
	x.release(b, election.Farewell{Token: r.Token}) // without the promise
	refused()
	// Being refused it must not stand in the way of those who are not.
	c := x.open("c")
	x.release(c, election.Farewell{Token: x.win(c, "s", medium).Token, Released: true})
	t := x.win(fast, "s", medium).Token
	x.want(x.bid(c, "s"), election.Refused)
	x.release(fast, election.Farewell{Token: t, Released: true})
	x.win(c, "s", medium)
}

// F6: a transfer lets its addressee go first.
func transferYields(x *exercise) {
	a, b, c := x.open("a"), x.open("b"), x.open("c")
	t := x.win(a, "s", medium).Token
	x.release(a, election.Farewell{Token: t, Released: true, To: "c", Actor: "somebody"})
	x.want(x.bid(b, "s"), election.Yield)
	x.want(x.bid(a, "s"), election.Yield)
	x.holds(x.win(c, "s", medium), 0)
	r := x.want(x.bid(b, "s"), election.Held)
	if r.Holder != "c" {
		x.Errorf("held by %q", r.Holder)
	}
}

// An addressee that does not come is waited for, but not for long.
func transferLapses(x *exercise) {
	a, b := x.open("a"), x.open("b")
	t := x.win(a, "s", medium).Token
	x.release(a, election.Farewell{Token: t, Released: true, To: "nobody"})
	x.want(x.bid(b, "s"), election.Yield)
	var r election.Result
	x.until("others may bid again", soon, func() bool {
		r = x.bid(b, "s")
		return r.Outcome != election.Yield
	})
	x.holds(x.want(r, election.Won), 0)
}
