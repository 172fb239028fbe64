package electiontest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

// D1: a session that is silent for its lease ends by itself, and its scopes are free.
func silenceFrees(x *exercise) {
	b := x.open("b") // first: a's lease runs from its opening
	a := x.candidate(mint.Candidate{ID: "a", Lease: short, Takeover: mint.Strict})
	since := time.Now() // before its last call
	x.win(a, "s", short)
	ended := x.await(a.Process())
	var r mint.Result
	x.until("the silent session's scope is free", short+soon, func() bool {
		r = x.try(b, mint.Bid{Scope: "s", Lease: short})[0]
		return r.Outcome != mint.Held
	})
	if took := time.Since(since); took < short {
		x.Errorf("freed after %s of silence, the lease is %s", took, short)
	}
	x.holds(x.want(r, mint.Won), short)
	x.wakes(ended, since.Add(short))
	if _, err := a.Beat(x.Context(), nil); !errors.Is(err, mint.ErrSessionLost) {
		x.Errorf("beat after silence: %v, want ErrSessionLost", err)
	}
}

// D1: under keep only a dead connection frees a scope.
func keepKeeps(x *exercise) {
	a := x.candidate(mint.Candidate{ID: "a", Lease: short, Takeover: mint.Keep})
	b := x.candidate(mint.Candidate{ID: "b", Lease: short, Takeover: mint.Keep})
	t := x.win(a, "s", short).Token
	for end := time.Now().Add(5 * short / 2); time.Now().Before(end); {
		x.want(x.try(b, mint.Bid{Scope: "s", Lease: short})[0], mint.Held)
		_ = pause.For(x.Context(), short/5)
	}
	if !x.beat(a, mint.Pulse{Token: t})[0] {
		x.Error("the silent holder's term was not renewed")
	}
	x.h.Kill(x.T, x.mint, a)
	x.want(x.succeed(b, mint.Bid{Scope: "s", Lease: short}), mint.Won)
}

// S10: a holder that sends heartbeats keeps its scope, far beyond one lease.
func beatsKeep(x *exercise) {
	const lease = 2 * time.Second
	b := x.open("b")
	a := x.candidate(mint.Candidate{ID: "a", Lease: lease, Takeover: mint.Strict})
	t := x.win(a, "s", lease).Token
	for end := time.Now().Add(5 * lease / 2); time.Now().Before(end); {
		if !x.beat(a, mint.Pulse{Token: t, Settle: true})[0] {
			x.Fatal("the term was not renewed")
		}
		x.want(x.bid(b, "s"), mint.Held)
		_ = pause.For(x.Context(), lease/10)
	}
}

// A holder that is stopped or cut off keeps its scope for a lease and no longer.
func frozenIsFreed(x *exercise) {
	if x.h.Freeze == nil {
		x.Skip("this harness cannot freeze a session")
	}
	b := x.open("b")
	a := x.candidate(mint.Candidate{ID: "a", Lease: short, Takeover: mint.Strict})
	t := x.win(a, "s", short).Token
	thaw := x.h.Freeze(x.T, x.mint, a)
	ctx, cancel := context.WithTimeout(x.Context(), short/2)
	defer cancel()
	if _, err := a.Beat(ctx, []mint.Pulse{{Token: t}}); err == nil {
		x.Error("a heartbeat of the frozen session succeeded")
	}
	var r mint.Result
	x.until("the frozen session's scope is free", short+soon, func() bool {
		r = x.try(b, mint.Bid{Scope: "s", Lease: short})[0]
		return r.Outcome != mint.Held
	})
	x.holds(x.want(r, mint.Won), short)
	thaw()
	if alive, err := a.Beat(x.Context(), []mint.Pulse{{Token: t}}); err == nil && alive[0] == mint.Renewed {
		x.Error("after the thaw the old term was renewed")
	}
}

// S2: names are used unchanged, and different names are different scopes.
func oddNames(x *exercise) {
	scopes := []string{
		strings.Repeat("x", 200), strings.Repeat("x", 199), strings.Repeat("ü", 100),
		"s", "S", " s", "s ", "a:b:7", ":", "%", "_", `\`, `\x00`, `'; DROP SCHEMA conch; --`, `"`, "$1", "{}", "{a,b}", "NULL",
		"zero\u200bwidth", "em\u2003space", "🐚", "e\u0301", "\u00e9", "\u202e", "s/../s", "conch:s",
	}
	ids := []string{strings.Repeat("i", 200), `o'neill "x" \ % _ $1 {} 🐚 é`}
	e := x.listen()
	a, b := x.open(ids[0]), x.open(ids[1])
	var bids []mint.Bid
	for _, s := range scopes {
		if err := election.ValidScope(s); err != nil {
			x.Fatal(err)
		}
		bids = append(bids, mint.Bid{Scope: s, Lease: medium})
	}
	var pulses []mint.Pulse
	for _, r := range x.try(a, bids...) {
		x.want(r, mint.Won)
		if r.Token.Scope != r.Scope || r.Token.Holder != ids[0] || r.Token.Epoch != 1 {
			x.Errorf("%q: token %+v", r.Scope, r.Token)
		}
		pulses = append(pulses, mint.Pulse{Token: r.Token})
	}
	for _, r := range x.try(b, bids...) {
		if x.want(r, mint.Held); r.Holder != ids[0] {
			x.Errorf("%q: held by %q", r.Scope, r.Holder)
		}
	}
	for i, ok := range x.beat(a, pulses...) {
		if !ok {
			x.Errorf("the term of %q was not renewed", scopes[i])
		}
		if err := x.fenced(pulses[i].Token)(); err != nil {
			x.Errorf("%q: fenced commit: %v", scopes[i], err)
		}
		x.release(a, mint.Farewell{Token: pulses[i].Token, Released: true, To: ids[1], Reason: "it's \"over\"\n", Actor: `\`})
		x.beat(b) // on a busy machine all the fences together take longer than the lease
	}
	for _, r := range x.try(b, bids...) {
		x.holds(x.want(r, mint.Won), 0)
		x.until(fmt.Sprintf("the changes of %q are heard", r.Scope), soon, func() bool {
			return e.has(mint.Change{Scope: r.Scope, Epoch: 1}) &&
				e.has(mint.Change{Scope: r.Scope, Holder: ids[1], Epoch: 2})
		})
	}
}

// S4, F6: one elector over this mint hands its scopes over to another.
func electors(x *exercise) {
	type running struct {
		*election.Elector
		stop func() error
	}
	begin := func(id string) running {
		e, err := election.New(election.Config{
			Mint: x.mint, ID: id, Lease: 3 * time.Second, DrainTimeout: soon,
			Roles: []election.Role{{Scope: "s"}, {Scope: "t"}},
		})
		if err != nil {
			x.Fatal(err)
		}
		ctx, cancel := context.WithCancel(x.Context())
		over := make(chan error, 1)
		go func() { over <- e.Run(ctx) }()
		return running{e, func() error { cancel(); return <-over }}
	}
	a := begin("a")
	for _, scope := range []string{"s", "t"} {
		x.leads(a.Elector, scope, 1)
	}
	b := begin("b")
	if err := a.stop(); err != nil {
		x.Errorf("stop: %v", err)
	}
	for _, scope := range []string{"s", "t"} {
		x.leads(b.Elector, scope, 2)
	}
	if err := b.stop(); err != nil {
		x.Errorf("stop: %v", err)
	}
}

func (x *exercise) leads(e *election.Elector, scope string, epoch int64) {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), soon)
	defer cancel()
	if t, err := e.Gate(scope).Wait(ctx, fence.Act); err != nil || t.Epoch != epoch {
		x.Errorf("%s leads %s with epoch %d, want %d: %v", e.ID(), scope, t.Epoch, epoch, err)
	}
}
