package chain

import (
	"fmt"
	"math/big"
)

// None reports whether f is the zero Fee.
func (f Fee) None() bool { return f.Max == nil && f.Tip == nil }

// Raised returns the least fee that pays percent more in both parts. Nodes round the
// threshold differently, so Raised adds one unit after dividing.
func (f Fee) Raised(percent int) Fee {
	return Fee{Max: raised(f.Max, percent), Tip: raised(f.Tip, percent)}
}

// Below returns the highest fee that, raised by percent, is at most f.
func (f Fee) Below(percent int) Fee {
	return Fee{Max: below(f.Max, percent), Tip: below(f.Tip, percent)}
}

func below(part *big.Int, percent int) *big.Int {
	if part == nil {
		return nil
	}
	less := new(big.Int).Mul(part, big.NewInt(100))
	return less.Div(less, big.NewInt(int64(100+percent)))
}

func raised(part *big.Int, percent int) *big.Int {
	if part == nil {
		return nil
	}
	more := new(big.Int).Mul(part, big.NewInt(int64(100+percent)))
	return more.Div(more, big.NewInt(100)).Add(more, big.NewInt(1))
}

// Enough reports whether an attempt with this fee, which waits, pays the price that is asked for now and a tenth more,
// and the tip. One that pays more would not be in a block sooner.
func (f Fee) Enough(price, tip *big.Int) bool {
	if f.Max == nil || f.Tip == nil || price == nil || tip == nil {
		return false
	}
	spare := new(big.Int).Mul(price, big.NewInt(11))
	return new(big.Int).Mul(f.Max, big.NewInt(10)).Cmp(spare) >= 0 && f.Tip.Cmp(tip) >= 0
}

// Bid chooses the fee of an attempt. It starts at f, which is suggested, raises it to percent more
// than above, the dearest attempt of the slot so far, and caps it at most, but not below
// least, which is the lowest fee that the chain takes now. The error wraps ErrFee.
func (f Fee) Bid(least, above, most Fee, percent int) (Fee, error) {
	floor := least
	if !above.None() {
		raise := above.Raised(percent)
		floor = Fee{Max: larger(floor.Max, raise.Max), Tip: larger(floor.Tip, raise.Tip)}
	}
	fee := Fee{Max: larger(f.Max, floor.Max), Tip: larger(f.Tip, floor.Tip)}
	for _, part := range []struct {
		name        string
		bid         **big.Int
		floor, most *big.Int
	}{{"the gas price", &fee.Max, floor.Max, most.Max}, {"the tip", &fee.Tip, floor.Tip, most.Tip}} {
		if part.most == nil || *part.bid == nil || (*part.bid).Cmp(part.most) <= 0 {
			continue
		}
		if part.floor != nil && part.floor.Cmp(part.most) > 0 {
			return Fee{}, fmt.Errorf("%w: %s has to be at least %v, and at most %v is allowed", ErrFee, part.name, part.floor, part.most)
		}
		*part.bid = part.most
	}
	// The price includes the tip, so a chain refuses a tip above the price.
	if fee.Max != nil && fee.Tip != nil && fee.Tip.Cmp(fee.Max) > 0 {
		if floor.Tip != nil && floor.Tip.Cmp(fee.Max) > 0 {
			return Fee{}, fmt.Errorf("%w: the tip has to be at least %v, and the gas price, which includes it, is %v", ErrFee, floor.Tip, fee.Max)
		}
		fee.Tip = fee.Max
	}
	return fee, nil
}

func larger(a, b *big.Int) *big.Int {
	if a == nil || b != nil && b.Cmp(a) > 0 {
		return b
	}
	return a
}
