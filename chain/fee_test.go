package chain_test

import (
	"errors"
	"math/big"
	"testing"

	"github.com/conchhq/conch/chain"
)

func fee(maximum, tip int64) chain.Fee {
	return chain.Fee{Max: big.NewInt(maximum), Tip: big.NewInt(tip)}
}

func TestBid(t *testing.T) {
	none := chain.Fee{}
	for _, c := range []struct {
		name                          string
		suggested, least, above, most chain.Fee
		want                          chain.Fee
		err                           error
	}{
		{"as suggested", fee(200, 2), fee(101, 1), none, none, fee(200, 2), nil},
		{"both parts are raised", fee(200, 2), fee(101, 1), fee(300, 100), none, fee(331, 111), nil},
		{"the suggestion is above the raise", fee(900, 2), fee(501, 1), fee(300, 100), none, fee(900, 111), nil},
		{"a tip of nothing is raised to the suggestion", fee(200, 7), fee(101, 1), fee(150, 0), none, fee(200, 7), nil},
		{"and not below the least", fee(200, 2), fee(101, 5), fee(150, 0), none, fee(200, 5), nil},
		{"capped at the maximum", fee(200, 2), fee(101, 1), none, fee(150, 2), fee(150, 2), nil},
		{"the maximum is below the chain's minimum", fee(200, 2), fee(101, 1), none, fee(100, 2), none, chain.ErrFee},
		{"the raised price is above the maximum", fee(200, 2), fee(101, 1), fee(140, 2), fee(150, 9), none, chain.ErrFee},
		{"the raised tip is above the maximum", fee(200, 2), fee(101, 1), fee(100, 9), fee(500, 9), none, chain.ErrFee},
		{"the tip is lowered to the price", fee(10, 20), fee(5, 1), none, fee(8, 20), fee(8, 8), nil},
		{"the raised tip is above the price", fee(10, 2), fee(5, 1), fee(7, 10), fee(10, 20), none, chain.ErrFee},
		{"a chain that has only tips", chain.Fee{Tip: big.NewInt(3)}, none, chain.Fee{Tip: big.NewInt(10)}, none, chain.Fee{Tip: big.NewInt(12)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.suggested.Bid(c.least, c.above, c.most, 10)
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Fatalf("got error %v, want %v", err, c.err)
			}
			if same := func(a, b *big.Int) bool { return a == nil && b == nil || a != nil && b != nil && a.Cmp(b) == 0 }; !same(got.Max, c.want.Max) || !same(got.Tip, c.want.Tip) {
				t.Fatalf("got price %v and tip %v, want %v and %v", got.Max, got.Tip, c.want.Max, c.want.Tip)
			}
		})
	}
}

// W8, T16: a node takes a replacement that pays a tenth more in both parts, and more in both: also where no tip is
// suggested, and where the first one was 0.
func TestARaiseIsEnough(t *testing.T) {
	t.Parallel()
	for _, suggested := range []int64{0, 5} {
		last := fee(1000, 0)
		for range 100 {
			next, err := fee(0, suggested).Bid(fee(7, 0), last, chain.Fee{}, 10)
			if err != nil {
				t.Fatal(err)
			}
			for part, raised := range map[string][2]*big.Int{"price": {last.Max, next.Max}, "tip": {last.Tip, next.Tip}} {
				tenthMore := new(big.Int).Mul(raised[0], big.NewInt(110))
				if raised[1].Cmp(raised[0]) <= 0 || new(big.Int).Mul(raised[1], big.NewInt(100)).Cmp(tenthMore) < 0 {
					t.Fatalf("the %s is raised from %v to %v with a suggested tip of %d, want a tenth more", part, raised[0], raised[1], suggested)
				}
			}
			last = next
		}
	}
}

// W8: what stops at Below can be replaced once more, within the limit.
func TestBelowLeavesRoomForARaise(t *testing.T) {
	for _, limit := range []int64{1, 7, 100, 12345, 30e9} {
		most := fee(limit*100, limit)
		stop := most.Below(25)
		if again := stop.Raised(25); stop.Max.Sign() <= 0 || again.Max.Cmp(new(big.Int).Add(most.Max, big.NewInt(1))) > 0 {
			t.Errorf("below %v is %v, and raised again %v, want no more", most.Max, stop.Max, again.Max)
		}
		if _, err := fee(1, 0).Bid(fee(1, 0), fee(stop.Max.Int64(), 0), most, 10); err != nil {
			t.Errorf("an attempt at %v cannot be replaced under the limit %v: %v", stop.Max, most.Max, err)
		}
	}
	if got := (chain.Fee{}).Below(25); !got.None() {
		t.Errorf("below no limit is %v, want no limit", got)
	}
}

func TestEnough(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of         chain.Fee
		price, tip int64
		want       bool
	}{
		"a tenth more than the price":    {fee(110, 2), 100, 2, true},
		"less than a tenth more":         {fee(109, 2), 100, 2, false},
		"the tip is too low":             {fee(500, 1), 100, 2, false},
		"no tip is asked for":            {fee(500, 0), 100, 0, true},
		"nothing is known of its price":  {chain.Fee{Tip: big.NewInt(5)}, 100, 2, false},
		"nothing is known of its tip":    {chain.Fee{Max: big.NewInt(500)}, 100, 2, false},
		"the price has risen far beyond": {fee(110, 2), 400, 2, false},
	} {
		if got := c.of.Enough(big.NewInt(c.price), big.NewInt(c.tip)); got != c.want {
			t.Errorf("%s: enough %v, want %v", name, got, c.want)
		}
	}
}
