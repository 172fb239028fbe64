package rules_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/rules"
)

// Z1: always mortal, by a power of two, and never for longer than the chain knows the birth.
func TestPeriod(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ configured, kept, want uint64 }{
		{0, 0, 64}, {0, 4096, 64}, {64, 2400, 64}, {1, 0, 16}, {16, 0, 16}, {100, 0, 64}, {256, 0, 256}, {math.MaxUint64, 0, 256},
		{256, 250, 128}, {64, 10, 8}, {64, 1, 4},
	} {
		if got := rules.Period(c.configured, c.kept); got != c.want {
			t.Errorf("%d is configured, and the chain keeps %d hashes: got %d, want %d", c.configured, c.kept, got, c.want)
		}
	}
}

// Z2: born at the final block, and near the head only if that is far above it; the last block that takes it is birth + period - 1.
func TestBirth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		head, final, period uint64
		want                rules.Birth
	}{
		{100, 97, 64, rules.Birth{97, 160, false}},
		{100, 84, 64, rules.Birth{84, 147, false}},
		{100, 83, 64, rules.Birth{84, 147, true}},
		{100, 0, 64, rules.Birth{84, 147, true}},
		{1000, 0, 256, rules.Birth{968, 1223, true}},
		{3, 0, 64, rules.Birth{0, 63, false}},
		{100, 99, 4, rules.Birth{99, 102, false}},
		{100, 98, 4, rules.Birth{99, 102, true}},
		{100, 103, 64, rules.Birth{100, 163, false}}, // another backend has named the head
		{0, 0, 4, rules.Birth{0, 3, false}},
	} {
		if got := rules.BirthOf(c.head, c.final, c.period); got != c.want {
			t.Errorf("head %d, final %d, period %d: got %+v, want %+v", c.head, c.final, c.period, got, c.want)
		}
	}
}

// Z10: an extrinsic that succeeded may have carried one that failed, and one of which nothing is said did nothing that is known.
func TestEffects(t *testing.T) {
	t.Parallel()
	const below = "Token.BelowMinimum"
	of := func(events ...rules.Event) []rules.Event { // those of the extrinsic that is asked for have 2
		return append(events, rules.Event{1, "System", "ExtrinsicFailed", "System.Other"}, rules.Event{-1, "Scheduler", "Dispatched", below}, rules.Event{3, "System", "ExtrinsicSuccess", ""})
	}
	ok := rules.Event{2, "System", "ExtrinsicSuccess", ""}
	for _, c := range []struct {
		name   string
		events []rules.Event
		want   chain.Effect
	}{
		{"success", of(rules.Event{2, "Balances", "Transfer", ""}, ok), chain.Effect{Kind: chain.EffectOK}},
		{"failure", of(rules.Event{2, "System", "ExtrinsicFailed", below}), chain.Effect{Kind: chain.EffectFailed, Why: below}},
		{"failure without a name", of(rules.Event{2, "System", "ExtrinsicFailed", ""}), chain.Effect{Kind: chain.EffectFailed, Why: "an error without a name"}},
		{"batch", of(rules.Event{2, "Utility", "ItemCompleted", ""}, rules.Event{2, "Utility", "BatchInterrupted", below}, ok), chain.Effect{Kind: chain.EffectPartly, Why: "Utility.BatchInterrupted: " + below}},
		{"forced batch", of(rules.Event{2, "Utility", "ItemFailed", below}, rules.Event{2, "Utility", "ItemFailed", "System.Other"}, rules.Event{2, "Utility", "BatchCompletedWithErrors", ""}, ok), chain.Effect{Kind: chain.EffectPartly, Why: "Utility.ItemFailed: " + below}},
		{"a pallet that nobody knows", of(rules.Event{2, "Vault", "Opened", below}, ok), chain.Effect{Kind: chain.EffectPartly, Why: "Vault.Opened: " + below}},
		{"another pallet's success", of(rules.Event{2, "Other", "ExtrinsicSuccess", ""}), chain.Effect{}},
		{"nothing", of(), chain.Effect{}},
		{"no events", nil, chain.Effect{}},
	} {
		if got := rules.EffectOf(c.events, 2); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Z16: a raise is measured. The priorities are those that real runtimes give.
func TestRaise(t *testing.T) {
	t.Parallel()
	kusama := func(tip uint64) uint64 {
		if tip > (math.MaxUint64-35108)/35108 {
			return math.MaxUint64
		}
		return 35108 * (tip + 1)
	}
	moonbase := func(tip uint64) uint64 { return tip / 1000 }
	level := func(uint64) uint64 { return 7 }
	for _, c := range []struct {
		name              string
		priority          func(uint64) uint64
		above, step, most int64 // most 0: no limit
		want              int64 // 0: none
	}{
		{"the first raise", kusama, 0, 50, 0, 50},
		{"the next doubles", kusama, 50, 20, 0, 100},
		{"no step", kusama, 0, 0, 0, 1},
		{"as much as is allowed", kusama, 50, 20, 60, 60},
		{"no more is allowed", kusama, 60, 20, 60, 0},
		{"a step that changes nothing is doubled", moonbase, 0, 50, 0, 1600},
		{"what is allowed changes nothing", moonbase, 0, 50, 900, 0},
		{"at its end", kusama, 1e15, 1, 0, 0},
		{"a step to the end", kusama, 4e14, 1, 0, 0},
		{"nothing changes anything", level, 0, 1, 0, 0},
	} {
		asked := 0
		var most *big.Int
		if c.most > 0 {
			most = big.NewInt(c.most)
		}
		got, err := rules.Raise(big.NewInt(c.above), big.NewInt(c.step), most, func(tip *big.Int) (uint64, error) {
			if asked++; !tip.IsUint64() {
				return math.MaxUint64, nil
			}
			return c.priority(tip.Uint64()), nil
		})
		if c.want == 0 && !errors.Is(err, chain.ErrFee) || c.want > 0 && (err != nil || got.Int64() != c.want) {
			t.Errorf("%s: got %v, %v, want %d", c.name, got, err, c.want)
		}
		if got != nil && c.priority(got.Uint64()) == math.MaxUint64 || asked > 40 {
			t.Errorf("%s: after %d questions got a tip of %v, which nothing outbids", c.name, asked, got)
		}
	}
	lost := errors.New("lost")
	if _, err := rules.Raise(new(big.Int), big.NewInt(1), nil, func(*big.Int) (uint64, error) { return 0, lost }); !errors.Is(err, lost) {
		t.Errorf("got %v, want that it could not be measured", err)
	}
}

// Z20: no call ends its account unawares, and fees are paid from what is above the deposit.
func TestReaping(t *testing.T) {
	t.Parallel()
	f := rules.Funds{Free: big.NewInt(1000), Deposit: big.NewInt(100), Fee: big.NewInt(10)}
	for _, c := range []struct {
		transfer rules.Transfer
		reaps    bool
	}{
		{rules.Transfer{}, false}, {rules.Transfer{Amount: new(big.Int)}, false}, {rules.Transfer{All: true}, true},
		{rules.Transfer{Amount: big.NewInt(890)}, false}, {rules.Transfer{Amount: big.NewInt(891)}, true}, {rules.Transfer{Amount: big.NewInt(5000)}, true},
	} {
		if err := rules.MayReap(c.transfer, f); errors.Is(err, chain.ErrCall) != c.reaps || (err != nil) != c.reaps {
			t.Errorf("%+v: got %v, want that it reaps: %t", c.transfer, err, c.reaps)
		}
	}
	for _, c := range []struct {
		fee, owed int64
		want      error
	}{{900, 0, nil}, {901, 0, chain.ErrFunds}, {10, 890, nil}, {10, 891, chain.ErrOwed}, {901, 5, chain.ErrFunds}} {
		f.Fee = big.NewInt(c.fee)
		err := rules.Payable(f, big.NewInt(c.owed))
		if c.want == nil && err != nil || !errors.Is(err, c.want) || errors.Is(err, chain.ErrOwed) != errors.Is(c.want, chain.ErrOwed) {
			t.Errorf("a fee of %d, with %d owed: got %v, want %v", c.fee, c.owed, err, c.want)
		}
	}
	if err := rules.Payable(f, nil); !errors.Is(err, chain.ErrFunds) {
		t.Errorf("got %v", err)
	}
}
