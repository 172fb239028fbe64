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

// A tip of 0 is common, and one wei is any number of times that: one dearer attempt must not
// make a slot dear.
func TestDear(t *testing.T) {
	t.Parallel()
	fee := func(most, tip int64) chain.Fee { return chain.Fee{Max: big.NewInt(most), Tip: big.NewInt(tip)} }
	for name, c := range map[string]struct {
		first, last chain.Fee
		want        bool
	}{
		"no tip, raised once":                {fee(100, 0), fee(111, 1), false},
		"20 times the tip of one wei":        {fee(100, 1), fee(1000, 20), false},
		"above 10 times the maximum":         {fee(100, 0), fee(1001, 1), true},
		"a fee of 0, raised once":            {fee(0, 0), fee(1, 1), false},
		"a fee of 0, raised above 10":        {fee(0, 0), fee(11, 1), true},
		"above 10 times the tip, no maximum": {chain.Fee{Tip: big.NewInt(5)}, chain.Fee{Tip: big.NewInt(51)}, true},
		"10 times the tip, no maximum":       {chain.Fee{Tip: big.NewInt(5)}, chain.Fee{Tip: big.NewInt(50)}, false},
	} {
		s := &slot{Slot: Slot{Attempts: []chain.Signed{{Fee: c.first}, {Fee: c.last}}}}
		if got := s.isDear(10); got != c.want {
			t.Errorf("%s: dear %v, want %v", name, got, c.want)
		}
	}
}

// After a Step, Next never returns an instant in the past: the loop would spin until the next
// block.
func TestNextIsNotPast(t *testing.T) {
	t.Parallel()
	now := fence.Instant(time.Hour)
	m := newMachine(settings{MaxInFlight: 4, MaxBatch: 3, ResendAfter: 2, Retry: time.Second, Patience: 2 * time.Second})
	step := func(in input) {
		t.Helper()
		m.Step(now, in)
		if next := m.Next(); next != 0 && next <= now {
			t.Fatalf("after %T at %v, Next returned %v, want a later instant", in, now, next)
		}
	}
	step(tick{})
	now = now.Add(5 * time.Second) // the store is slow
	step(tick{})
	step(loaded{Snapshot: Snapshot{Waits: Waits{Queued: 1}}})
	step(stored{Hold: chain.ErrFunds})
	now = now.Add(3 * time.Second) // no block comes
	step(tick{})
	step(stored{}) // and the intent is cancelled
	now = now.Add(time.Second)
	step(tick{})
	step(broke{Action: probe{}}) // just before the next look through the pool
	m.finding.lookBy = now
	step(tick{})
	step(lost{})
	for range 2 { // the load is slow again
		now = now.Add(5 * time.Second)
		step(tick{})
	}
}

// Changes that wait for the pace are stored when it is over, even if nothing else happens.
func TestNextReturnsThePace(t *testing.T) {
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
		return Slot{Index: index, Intent: &ID{byte(index)}, Attempts: []chain.Signed{{Index: index, Hash: chain.Hash(fmt.Sprint(index + 1))}}}
	}
	saves(tick{})
	saves(loaded{Snapshot: Snapshot{Waits: Waits{Queued: 9}}})
	saves(stored{Slots: []Slot{slot(0), slot(1)}, Left: 7}) // and an assign is under way all the time
	if saves(block(1)) != 1 || saves(saved{}) != 0 || saves(block(2)) != 0 {
		t.Fatal("want the changes of the first block saved at once, and those of the second to wait")
	}
	if next := m.Next(); next != now.Add(time.Minute) {
		t.Fatalf("at %v, Next returned %v, want one minute later", now, next)
	}
	now = m.Next()
	if saves(tick{}) != 1 {
		t.Error("the changes of the second block were not saved after the pace")
	}
}

// A save without an answer may have returned an intent to the queue: nothing of its old slot may be
// sent again before the rows have been read.
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
			t.Errorf("fate %v: %d loads, want %d", fate, loads, want)
		}
	}
}

// An error that stops signing raises an alarm or is reported as trouble, and not both.
func TestEveryErrorOfSigningIsReported(t *testing.T) {
	t.Parallel()
	for _, why := range []error{chain.ErrFunds, chain.ErrFee, chain.ErrKey, chain.ErrCall, chain.ErrUnclear} {
		l := &loop{Config: Config{Events: Events{Trouble: func(err error) { t.Errorf("reported as trouble beside the alarm: %v", err) }}}}
		l.reportUnalarmed(fmt.Errorf("%w: x", why))
	}
	var heard error
	l := &loop{Config: Config{Events: Events{Trouble: func(err error) { heard = err }}}}
	if l.reportUnalarmed(chain.ErrAnswer); !errors.Is(heard, chain.ErrAnswer) {
		t.Errorf("reported %v, want %v", heard, chain.ErrAnswer)
	}
}

// Whatever is open or under way keeps the chain followed.
func TestIdle(t *testing.T) {
	t.Parallel()
	if m := newMachine(settings{}); m.isIdle() {
		t.Error("idle before the rows are loaded")
	}
	for name, open := range map[string]func(*machine){
		"nothing":                         func(*machine) {},
		"a slot":                          func(m *machine) { m.slots.addSlot(&slot{}) },
		"an intent waits":                 func(m *machine) { m.signing.queued = 1; m.saving.savedHold = m.signing.whyWaiting() },
		"rows may be lost":                func(m *machine) { m.unknown.strange.on = true },
		"the chain counts unknown nonces": func(m *machine) { m.unknown.ahead.count = 1 },
		"the stored hold is over":         func(m *machine) { m.saving.savedHold = Hold{Why: "funds"} },
		"a failure is to be tried again":  func(m *machine) { m.pace.retry = 1 },
		"a save is under way":             func(m *machine) { m.underway.beginErrand(toSave) },
		"an attempt is being signed":      func(m *machine) { m.underway.beginErrand(toSign) },
		"the rows are being loaded":       func(m *machine) { m.underway.beginErrand(toLoad) },
		"an attempt is being sent":        func(m *machine) { m.underway.beginErrand(toSend) },
		"an attempt is being looked up":   func(m *machine) { m.underway.beginErrand(toLook) },
		"blocks are being read":           func(m *machine) { m.underway.beginErrand(toSearch) },
		"blocks are being linked":         func(m *machine) { m.underway.beginErrand(toLink) },
		"a second opinion is asked for":   func(m *machine) { m.underway.beginErrand(toConfirm) },
		"unknown transactions are read":   func(m *machine) { m.underway.beginErrand(toSurvey) },
		"slots come back":                 func(m *machine) { m.underway.beginErrand(toPage) },
		"what is stored is not known":     func(m *machine) { m.rows.phase = blank },
	} {
		m := newMachine(settings{})
		m.rows.phase = working
		if open(m); m.isIdle() != (name == "nothing") {
			t.Errorf("%s: idle %v", name, m.isIdle())
		}
	}
}
