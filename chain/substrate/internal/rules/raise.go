package rules

import (
	"fmt"
	"math"
	"math/big"

	"github.com/conchhq/conch/chain"
)

// mostSteps bounds how often one raise is measured.
const mostSteps = 32

// Raise returns the tip with which an attempt outbids one that offers a tip of above. A pool compares priorities, which the runtime makes
// of tips as it likes (Z16): one more planck may change nothing, and a tip above a limit may give the highest priority that there is,
// which nothing could outbid ever after. So priority, which returns that of the new call for a tip, is asked. step is the first step, and
// most the highest tip that is allowed; nil: there is no limit. The error wraps chain.ErrFee.
func Raise(above, step, most *big.Int, priority func(tip *big.Int) (uint64, error)) (*big.Int, error) {
	old, err := priority(above)
	if err != nil {
		return nil, err
	}
	if step.Sign() <= 0 {
		step = big.NewInt(1)
	}
	if above.Cmp(step) > 0 {
		step = above // from the second raise on the tip doubles
	}
	for range mostSteps {
		tip := new(big.Int).Add(above, step)
		if most != nil && tip.Cmp(most) > 0 {
			if most.Cmp(above) <= 0 {
				return nil, fmt.Errorf("%w: the tip has to be above %v, and at most %v is allowed", chain.ErrFee, above, most)
			}
			tip = most
		}
		now, err := priority(tip)
		switch {
		case err != nil:
			return nil, err
		case now == math.MaxUint64:
			return nil, fmt.Errorf("%w: the priority is at its end: a tip of %v gives the highest that there is, and %v is offered", chain.ErrFee, tip, above)
		case now > old:
			return tip, nil
		case tip == most:
			return nil, fmt.Errorf("%w: a tip of %v has no higher priority than one of %v, and no higher one is allowed", chain.ErrFee, tip, above)
		}
		step = new(big.Int).Lsh(step, 1)
	}
	return nil, fmt.Errorf("%w: no tip that was tried has a higher priority than %v", chain.ErrFee, above)
}
