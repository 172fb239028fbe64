package pending

import (
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// A tip of nothing is common, and one wei more is any number of times that: the slot
// must not count as dear after one raise.
func TestDear(t *testing.T) {
	t.Parallel()
	fee := func(most, tip int64) chain.Fee { return chain.Fee{Max: big.NewInt(most), Tip: big.NewInt(tip)} }
	for name, c := range map[string]struct {
		first, last chain.Fee
		want        bool
	}{
		"no tip, raised once":          {fee(100, 0), fee(111, 1), false},
		"one wei of tip, many times":   {fee(100, 1), fee(1000, 20), false},
		"the whole price":              {fee(100, 0), fee(1001, 1), true},
		"nothing at all, raised once":  {fee(0, 0), fee(1, 1), false},
		"nothing at all, and now more": {fee(0, 0), fee(11, 1), true},
		"the tip alone":                {chain.Fee{Tip: big.NewInt(5)}, chain.Fee{Tip: big.NewInt(51)}, true},
		"the tip alone, less":          {chain.Fee{Tip: big.NewInt(5)}, chain.Fee{Tip: big.NewInt(50)}, false},
	} {
		s := &slot{Slot: Slot{Attempts: []Attempt{{Signed: chain.Signed{Fee: c.first}}, {Signed: chain.Signed{Fee: c.last}}}}}
		if got := s.dear(10); got != c.want {
			t.Errorf("%s: dear %v, want %v", name, got, c.want)
		}
	}
}

// What Next names is never past once Step has been called then: the loop would turn
// as fast as it can until the next block.
func TestNextIsNotPast(t *testing.T) {
	t.Parallel()
	now := fence.Instant(time.Hour)
	m := newMachine(settings{MaxInFlight: 4, MaxBatch: 3, ResendAfter: 2, Retry: time.Second, Patience: 2 * time.Second})
	step := func(in input) {
		t.Helper()
		m.Step(now, in)
		if next := m.Next(); next != 0 && next <= now {
			t.Fatalf("after %T at %v the next tick is wanted at %v", in, now, next)
		}
	}
	step(tick{})
	now = now.Add(5 * time.Second) // the store takes its time
	step(tick{})
	step(loaded{Snapshot: Snapshot{Queued: 1}})
	step(stored{Hold: chain.ErrFunds})
	now = now.Add(3 * time.Second) // no block comes
	step(tick{})
	step(stored{}) // and the intent is cancelled
	now = now.Add(time.Second)
	step(tick{})
	step(lost{})
	for range 2 { // it is loaded, which takes its time again
		now = now.Add(5 * time.Second)
		step(tick{})
	}
}

// What was not stored because something else was a moment ago is stored when its time has
// come, though nothing else happens.
func TestNextIsThePace(t *testing.T) {
	t.Parallel()
	now := fence.Instant(time.Hour)
	m := newMachine(settings{MaxInFlight: 4, MaxBatch: 3, ResendAfter: 9, Retry: time.Second, Patience: time.Hour, Pace: time.Minute})
	saves := func(in input) (n int) {
		for _, a := range m.Step(now, in) {
			if _, is := a.(save); is {
				n++
			}
		}
		return n
	}
	block := func(number uint64) turned {
		hash := chain.Hash(fmt.Sprint(number))
		in := []chain.Inclusion{{Index: number - 1, Hash: hash}}
		return turned{Turn: chain.Turn{Kind: chain.Applied, Block: chain.Block{Number: number, Hash: hash}}, Inclusions: in, Count: number}
	}
	slot := func(index uint64) Slot {
		return Slot{Index: index, Intent: &ID{byte(index)}, Attempts: []Attempt{{Signed: chain.Signed{Index: index, Hash: chain.Hash(fmt.Sprint(index + 1))}}}}
	}
	saves(tick{})
	saves(loaded{Snapshot: Snapshot{Queued: 9}})
	saves(stored{Slots: []Slot{slot(0), slot(1)}, Left: 7}) // and more is signed for, all the time
	if saves(block(1)) != 1 || saves(saved{}) != 0 || saves(block(2)) != 0 {
		t.Fatal("the first block is stored, the next waits")
	}
	if next := m.Next(); next != now.Add(time.Minute) {
		t.Fatalf("at %v the next tick is wanted at %v", now, next)
	}
	now = m.Next()
	if saves(tick{}) != 1 {
		t.Error("the second block is not stored when its time has come")
	}
}

// A save without an answer may have given an intent back to the queue: its old slot's
// bytes are not to be sent again before the rows have been read.
func TestUnsureSaveOfAnIntentThatGoesAgain(t *testing.T) {
	t.Parallel()
	for _, fate := range []Fate{Again, Done} {
		m := newMachine(settings{MaxInFlight: 4, MaxBatch: 3, Retry: time.Second, Patience: time.Hour})
		now := fence.Instant(time.Hour)
		m.Step(now, tick{})
		m.Step(now, loaded{})
		m.Step(now, broke{Action: save{Changes: []Change{{Index: 1, Intent: fate}}}, Unsure: true})
		var loads int
		for _, a := range m.Step(now.Add(2*time.Second), tick{}) {
			if _, is := a.(load); is {
				loads++
			}
		}
		if want := map[Fate]int{Again: 1}[fate]; loads != want {
			t.Errorf("%v: %d loads, want %d", fate, loads, want)
		}
	}
}

// What keeps the queue from being signed for is either an alarm or a complaint.
func TestNothingHoldsSilently(t *testing.T) {
	t.Parallel()
	for _, why := range []error{chain.ErrFunds, chain.ErrFee, chain.ErrKey, chain.ErrCall, chain.ErrUnclear} {
		l := &loop{Config: Config{Events: Events{Trouble: func(err error) { t.Errorf("a complaint beside the alarm: %v", err) }}}}
		l.puzzled(fmt.Errorf("%w: x", why))
	}
	var heard error
	l := &loop{Config: Config{Events: Events{Trouble: func(err error) { heard = err }}}}
	if l.puzzled(chain.ErrAnswer); !errors.Is(heard, chain.ErrAnswer) {
		t.Errorf("heard %v of an estimate that the node gives an error for", heard)
	}
}
