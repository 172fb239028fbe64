package electiontest

import (
	"context"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

// Harness is what [Exercise] needs of a mint besides mint.Mint. Its functions fail t
// themselves if they cannot do their work.
type Harness struct {
	// New returns an empty mint that lives until t ends.
	New func(t *testing.T) mint.Mint
	// Fence begins a transaction in the mint's database, passes the fence with the token as
	// its last statement and leaves the transaction open until commit, or rolls it back when
	// t ends. A refusal is an error that wraps fence.ErrStale.
	Fence func(t *testing.T, m mint.Mint, token fence.Token) (commit func() error, err error)
	// Kill ends a session from outside, without a farewell.
	Kill func(t *testing.T, m mint.Mint, s mint.Session)
	// Beside returns another mint over the same rows, whose sessions use the other kind of
	// locks: one for each scope, or one for the process. It may be nil.
	Beside func(t *testing.T, m mint.Mint) mint.Mint
	// Unlock frees all locks of a session that lives on. It may be nil.
	Unlock func(t *testing.T, m mint.Mint, s mint.Session)
	// Advance raises the epoch of a scope as an operator does. It may be nil.
	Advance func(t *testing.T, m mint.Mint, scope string)
	// Freeze cuts off one session until thaw, without ending it, as a stopped process or a
	// network that swallows packets does. It may be nil.
	Freeze func(t *testing.T, m mint.Mint, s mint.Session) (thaw func())
}

// Exercise is the suite that every mint must pass. Its cases run in parallel, in real time.
func Exercise(t *testing.T, h Harness) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*exercise)
	}{
		{"EpochsGrow", epochsGrow},
		{"Exclusive", exclusive},
		{"Contest", contest},
		{"BatchInOrder", batchInOrder},
		{"RebidOfTheHolder", rebidOfTheHolder},
		{"OldTermRefused", oldTermRefused},
		{"OldFarewellIgnored", oldFarewellIgnored},
		{"EndedSession", endedSession},
		{"ReleaseHandsOff", releaseHandsOff},
		{"FarewellWithoutPromise", farewellWithoutPromise},
		{"CrashHolds", crashHolds},
		{"HoldsChain", holdsChain},
		{"HandoffStoresItsLease", handoffStoresItsLease},
		{"SettleLowers", settleLowers},
		{"TakeoverMustAgree", takeoverMustAgree},
		{"TransferYields", transferYields},
		{"TransferLapses", transferLapses},
		{"WaitSeesTheEnd", waitSeesTheEnd},
		{"WaitersWakeTogether", waitersWakeTogether},
		{"WaitEndsWithContext", waitEndsWithContext},
		{"ListenHears", listenHears},
		{"FencePasses", fencePasses},
		{"FenceRefuses", fenceRefuses},
		{"FenceKeepsTheMintOut", fenceKeepsTheMintOut},
		{"EvictEndsIt", evictEndsIt},
		{"BusyDelaysNoOther", busyDelaysNoOther},
		{"SilenceFrees", silenceFrees},
		{"KeepKeeps", keepKeeps},
		{"BeatsKeep", beatsKeep},
		{"FrozenIsFreed", frozenIsFreed},
		{"OddNames", oddNames},
		{"Electors", electors},
		{"MixedExclusive", mixedExclusive},
		{"MixedSuccession", mixedSuccession},
		{"MixedContest", mixedContest},
		{"UnlockedIsReplaced", unlockedIsReplaced},
		{"LateFarewell", lateFarewell},
		{"AdvanceDeposes", advanceDeposes},
		{"RollChanges", rollChanges},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(&exercise{T: t, h: h, mint: h.New(t)})
		})
	}
}

// exercise is one running case.
type exercise struct {
	*testing.T
	h      Harness
	mint   mint.Mint
	beside mint.Mint
}

// Most cases use long leases, so that none ends on a busy machine.
const (
	short  = time.Second
	medium = 10 * time.Second
	long   = 20 * time.Second
	// soon is the limit for what must happen at once.
	soon = 5 * time.Second
)

func (x *exercise) open(id string) mint.Session {
	x.Helper()
	return x.candidate(mint.Candidate{ID: id, Lease: medium, Takeover: mint.Strict})
}

func (x *exercise) candidate(c mint.Candidate) mint.Session {
	x.Helper()
	s, err := x.mint.Open(x.Context(), c)
	if err != nil {
		x.Fatalf("open %q: %v", c.ID, err)
	}
	x.Cleanup(func() { _ = s.Close() })
	return s
}

func (x *exercise) try(s mint.Session, bids ...mint.Bid) []mint.Result {
	x.Helper()
	results, err := s.Try(x.Context(), bids)
	if err != nil {
		x.Fatalf("try %v: %v", bids, err)
	}
	if len(results) != len(bids) {
		x.Fatalf("%d bids got %d results", len(bids), len(results))
	}
	for i, r := range results {
		if r.Scope != bids[i].Scope {
			x.Fatalf("result %d is of scope %q, the bid was for %q", i, r.Scope, bids[i].Scope)
		}
	}
	return results
}

// bid bids for one scope with the usual lease.
func (x *exercise) bid(s mint.Session, scope string) mint.Result {
	x.Helper()
	return x.try(s, mint.Bid{Scope: scope, Lease: medium})[0]
}

func (x *exercise) want(r mint.Result, o mint.Outcome) mint.Result {
	x.Helper()
	if r.Outcome != o {
		x.Fatalf("scope %q: outcome %s, want %s (%+v)", r.Scope, outcome(r.Outcome), outcome(o), r)
	}
	return r
}

// win bids for a scope that is free.
func (x *exercise) win(s mint.Session, scope string, lease time.Duration) mint.Result {
	x.Helper()
	return x.want(x.try(s, mint.Bid{Scope: scope, Lease: lease})[0], mint.Won)
}

// succeed bids until the scope is free: a mint takes a moment to see a session's sudden end.
func (x *exercise) succeed(s mint.Session, b mint.Bid) (r mint.Result) {
	x.Helper()
	x.until("the scope "+b.Scope+" is free", soon, func() bool {
		r = x.try(s, b)[0]
		return r.Outcome != mint.Held
	})
	return r
}

// beat reports of each term whether it was renewed. All others are Over, since no row is locked.
func (x *exercise) beat(s mint.Session, pulses ...mint.Pulse) []bool {
	x.Helper()
	answers, err := s.Beat(x.Context(), pulses)
	if err != nil {
		x.Fatalf("beat: %v", err)
	}
	if len(answers) != len(pulses) {
		x.Fatalf("%d pulses got %d answers", len(pulses), len(answers))
	}
	renewed := make([]bool, len(answers))
	for i, answer := range answers {
		if renewed[i] = answer == mint.Renewed; !renewed[i] && answer != mint.Over {
			x.Errorf("a heartbeat got outcome %d, want Renewed or Over", answer)
		}
	}
	return renewed
}

func (x *exercise) release(s mint.Session, f mint.Farewell) {
	x.Helper()
	if !x.parts(s, f) {
		x.Fatalf("the farewell of the current term %s got Over, want Said", f.Token)
	}
}

// parts reports whether the mint answered that the term was the current one.
func (x *exercise) parts(s mint.Session, f mint.Farewell) bool {
	x.Helper()
	answers, err := s.Release(x.Context(), []mint.Farewell{f})
	if err != nil || len(answers) != 1 || answers[0].Outcome != mint.Said && answers[0].Outcome != mint.Over {
		x.Fatalf("release: %v, %v; want one answer, Said or Over", answers, err)
	}
	return answers[0].Outcome == mint.Said
}

// until polls a condition until it holds.
func (x *exercise) until(what string, limit time.Duration, holds func() bool) {
	x.Helper()
	for end := time.Now().Add(limit); !holds(); {
		if time.Now().After(end) {
			x.Fatalf("not true within %s: %s", limit, what)
		}
		_ = pause.For(x.Context(), 10*time.Millisecond)
	}
}

// within fails if f takes longer than the limit.
func (x *exercise) within(limit time.Duration, what string, f func(ctx context.Context)) {
	x.Helper()
	ctx, cancel := context.WithTimeout(x.Context(), limit)
	defer cancel()
	start := time.Now()
	f(ctx)
	if took := time.Since(start); took > limit {
		x.Errorf("%s took %s, want at most %s", what, took, limit)
	}
}

func outcome(o mint.Outcome) string {
	return [...]string{"held", "won", "busy", "yield", "refused", "full", "locked", "said", "over", "renewed"}[o]
}
