// Package pendingtest is the conformance suite of stores of pending transactions.
package pendingtest

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// Store is a store with the methods for the manager, and below those that any node may call.
type Store interface { //nolint:interfacebloat // every store has all of them
	pending.Store
	Accept(ctx context.Context, in pending.Intent) (pending.Intent, error)
	Cancel(ctx context.Context, id pending.ID) error
	Get(ctx context.Context, id pending.ID) (pending.Record, error)
	List(ctx context.Context, f pending.Filter) ([]pending.Record, error)
	Counts(ctx context.Context) ([]pending.Count, error)
	Attempts(ctx context.Context, account chain.Account, index uint64) ([]pending.Attempt, error)
	Backlog(ctx context.Context, account chain.Account) (pending.Backlog, error)
	Life(ctx context.Context, account chain.Account) (pending.Life, error)
	SayOver(ctx context.Context, account chain.Account, number uint64) error
	Unfinished(ctx context.Context, account chain.Account, space string, to []byte) ([]pending.Record, error)
}

// Fixture is an empty store, a token that is current and one that is stale.
type Fixture struct {
	Store          Store
	Current, Stale fence.Token
	// Pass lets time pass for what the store has noted of refused intents.
	Pass func(t *testing.T, d time.Duration)
	// Events returns what has been told since it was last called, in the order in which it was.
	Events func(t *testing.T) []pending.Event
}

// Account is the account whose transactions the suite stores.
const Account = chain.Account("an account of 20 byt")

// Exercise runs the suite. Each test opens a Fixture.
func Exercise(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, Fixture){
		"KeysAreIdempotent":           keysAreIdempotent,
		"QueueIsInOrder":              queueIsInOrder,
		"SlotsAreLoadedBack":          slotsAreLoadedBack,
		"BigCalls":                    bigCalls,
		"AttemptsAreAdded":            attemptsAreAdded,
		"LateAttempts":                lateAttempts,
		"WhatWearsOutIsKept":          whatWearsOutIsKept,
		"ALifeBegins":                 aLifeBegins,
		"APersonEndsALife":            aPersonEndsALife,
		"ALateSaveSaysNothing":        aLateSaveSaysNothing,
		"FinalOnesAreLeftOut":         finalOnesAreLeftOut,
		"TheAgeOfAState":              theAgeOfAState,
		"AForeignOneFreesItsIntent":   aForeignOneFreesItsIntent,
		"TheCancelledGetNoSlot":       theCancelledGetNoSlot,
		"TheCancelledAreNotDoneAgain": theCancelledAreNotDoneAgain,
		"TheUnknownGetNoSlot":         theUnknownGetNoSlot,
		"RejectedInASlot":             rejectedInASlot,
		"ListsAndCounts":              listsAndCounts,
		"TheUnfinishedOfAKind":        theUnfinishedOfAKind,
		"ACallerTakesNoOthersKey":     aCallerTakesNoOthersKey,
		"TheLateGetNoSlot":            theLateGetNoSlot,
		"TermsAndDeadlinesAreKept":    termsAndDeadlinesAreKept,
		"Cancelling":                  cancelling,
		"Rejecting":                   rejecting,
		"StaleWritesNothing":          staleWritesNothing,
		"WhatWasGivenUpIsRefused":     whatWasGivenUpIsRefused,
		"ASlotIsTakenOnce":            aSlotIsTakenOnce,
		"GapsAreFilled":               gapsAreFilled,
		"AFinalOneCanReopen":          aFinalOneCanReopen,
		"WitnessesAreKept":            witnessesAreKept,
		"WaitsAreTold":                waitsAreTold,
		"HoldsAreTold":                holdsAreTold,
		"RefusalsAreKept":             refusalsAreKept,
		"AClockThatWasAhead":          aClockThatWasAhead,
		"OthersPassWhatIsPutOff":      othersPassWhatIsPutOff,
		"WhatIsPutOffStarvesNobody":   whatIsPutOffStarvesNobody,
		"OneSavesForLong":             oneSavesForLong,
		"TheAlikeAreFound":            theAlikeAreFound,
		"TheHeldThatEnded":            theHeldThatEnded,
		"TheValueIsLoaded":            theValueIsLoaded,
		"TheLastStateIsLoaded":        theLastStateIsLoaded,
		"TheHeightOfTheNewest":        theHeightOfTheNewestIsLoaded,
		"OlderOnesAreRuns":            olderOnesAreRuns,
		"ARangeOfSlots":               aRangeOfSlots,
		"TheVersionGrows":             theVersionGrows,
		"WhatIsTold":                  whatIsTold,
		"AttemptsAreTold":             attemptsAreTold,
		"TheBacklogIsCounted":         theBacklogIsCounted,
		"TheLastChangeIsDated":        theLastChangeIsDated,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

func call(n int) chain.Call {
	return chain.Call{To: []byte{1, 2, 3}, Value: big.NewInt(int64(n)), Data: []byte{}, Gas: 21000}
}

func (f Fixture) accept(t *testing.T, key string, n int) pending.Intent {
	t.Helper()
	in, err := f.Store.Accept(t.Context(), pending.Intent{Account: Account, Key: key, Call: call(n)})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func attempt(index uint64, letter string) chain.Signed {
	return chain.Signed{
		Account: Account, Index: index, Hash: chain.Hash(fmt.Sprintf("%d%s", index, letter)), Bytes: []byte("bytes of " + letter),
		Fee: chain.Fee{Max: big.NewInt(2_000_000_000), Tip: big.NewInt(100)}, Gas: 21000,
	}
}

func slot(index uint64, id *pending.ID) pending.Slot {
	return pending.Slot{Index: index, Intent: id, Since: 7, Attempts: []chain.Signed{attempt(index, "a")}}
}

// writes numbers the batches of all tests, in rising order.
var writes atomic.Uint64

func (f Fixture) write(t *testing.T, b pending.Batch) {
	t.Helper()
	b.Account, b.Number = Account, writes.Add(1)
	if err := f.Store.Write(t.Context(), f.Current, b); err != nil {
		t.Fatal(err)
	}
}

func (f Fixture) load(t *testing.T, from uint64) pending.Snapshot {
	t.Helper()
	snap, err := f.Store.Load(t.Context(), Account, from, 100)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func (f Fixture) record(t *testing.T, id pending.ID) pending.Record {
	t.Helper()
	r, err := f.Store.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (f Fixture) queue(t *testing.T, most int) (ids []pending.ID, left int) {
	t.Helper()
	q, err := f.Store.Queue(t.Context(), Account, false, most)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range q.Oldest {
		ids = append(ids, w.ID)
	}
	return ids, q.Left
}

func keysAreIdempotent(t *testing.T, f Fixture) {
	first := f.accept(t, "k", 1)
	if again := f.accept(t, "k", 1); again.ID != first.ID {
		t.Errorf("the same key and call twice: got IDs %x and %x, want the same", first.ID, again.ID)
	}
	_, err := f.Store.Accept(t.Context(), pending.Intent{Account: Account, Key: "k", Call: call(2)})
	if !errors.Is(err, pending.ErrConflict) {
		t.Errorf("the same key for another call: got error %v, want ErrConflict", err)
	}
	plain, err := f.Store.Accept(t.Context(), pending.Intent{Account: Account, Key: "nothing", Call: chain.Call{To: []byte{1}}})
	if err != nil {
		t.Fatal(err)
	}
	zero := chain.Call{To: []byte{1}, Value: new(big.Int), Data: []byte{}}
	if again, err := f.Store.Accept(t.Context(), pending.Intent{Account: Account, Key: "nothing", Call: zero}); err != nil || again.ID != plain.ID {
		t.Errorf("no value and a value of 0: got IDs %x and %x, error %v; want the same", plain.ID, again.ID, err)
	}
	if one, two := f.accept(t, "", 1), f.accept(t, "", 1); one.ID == two.ID {
		t.Error("two intents without a key have the same ID")
	}
	if _, err := f.Store.Get(t.Context(), pending.ID{9}); !errors.Is(err, pending.ErrNotFound) {
		t.Errorf("an unknown intent: got error %v, want ErrNotFound", err)
	}
}

func queueIsInOrder(t *testing.T, f Fixture) {
	var want []pending.ID
	for i := range 5 {
		want = append(want, f.accept(t, fmt.Sprint(i), i).ID)
	}
	got, left := f.queue(t, 3)
	if fmt.Sprint(got) != fmt.Sprint(want[:3]) || left == 0 {
		t.Errorf("queue: got %x with %d left, want the first 3 of %x and some left", got, left, want)
	}
	waits, err := f.Store.Waiting(t.Context(), Account)
	if queued := waits.Queued; queued != 5 || err != nil {
		t.Errorf("%d intents wait, error %v; want 5", queued, err)
	}
}
