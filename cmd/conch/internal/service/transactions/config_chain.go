package transactions

import (
	"fmt"
	"math/big"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
)

// mostFinality is one less than the blocks that a driver remembers.
const mostFinality = 4095

const instant = "instant" // the value of finality for a chain whose blocks are final at once

// finality reads a whole number of blocks, or the text "instant".
func finality(d *config.Decoder, to *Chain) config.Setter {
	return func(place string, value any) {
		switch value.(type) {
		case string:
			if to.Instant = value == instant; !to.Instant {
				d.Fault(place, "%q is neither a whole number of blocks nor %q", value, instant)
			}
		default:
			d.Count(&to.Finality)(place, value)
		}
	}
}

// minDepth reads a whole number above 0: at the head, finality can be instant.
func minDepth(d *config.Decoder, to *Chain) config.Setter {
	return func(place string, value any) {
		if value == int64(0) {
			d.Fault(place, `0 blocks below the head are no depth: if a block is final at once, write finality = %q instead`, instant)
			return
		}
		d.Count(&to.MinDepth)(place, value)
	}
}

// minTip reads what wei reads. A Chain is compared with another one, so it has no pointer.
func minTip(d *config.Decoder, to *Chain) config.Setter {
	return func(place string, value any) {
		var tip *big.Int
		wei(d, &tip)(place, value)
		switch {
		case tip == nil:
		case !tip.IsUint64():
			d.Fault(place, "%v wei for a unit of gas is more than any chain asks", tip)
		default:
			to.MinTip = tip.Uint64()
		}
	}
}

// validateTips refuses a limit under which nothing could be sent.
func validateTips(d *config.Decoder, place string, a Account) {
	least := new(big.Int).SetUint64(a.Chain.MinTip)
	if a.MaxTip != nil && new(big.Int).Mul(a.MaxTip, big.NewInt(4)).Cmp(least.Mul(least, big.NewInt(5))) < 0 {
		d.Fault(place+".max_tip", "four fifths of it are what a transaction may pay, and its chain's min_tip of %d wei is more: nothing would be sent", a.Chain.MinTip)
	}
}

// wait reads a duration, of which "0s" means none.
func wait(d *config.Decoder, to *time.Duration) config.Setter {
	return func(place string, value any) {
		text, _ := value.(string)
		if span, err := time.ParseDuration(text); err == nil && span == 0 {
			*to = -1
			return
		}
		d.Span(to)(place, value)
	}
}

// order reads "strict" or "relaxed".
func order(d *config.Decoder, relaxed *bool) config.Setter {
	return func(place string, value any) {
		switch value {
		case "strict":
			*relaxed = false
		case "relaxed":
			*relaxed = true
		default:
			d.Fault(place, `%v is no order: write "strict", and no transaction passes an earlier one, or "relaxed", and they pass one that cannot be paid, estimated or understood`, value)
		}
	}
}

func (s *Section) validateChains(d *config.Decoder) {
	names := map[string]int{}
	for i, one := range s.chains {
		place := fmt.Sprintf("chains[%d]", i)
		if one.Name == "" {
			d.Fault(place, "has no name, by which accounts name their chain")
		} else if first, taken := names[one.Name]; taken {
			d.Fault(place+".name", "%q is the name of chains[%d] already", one.Name, first)
		} else {
			names[one.Name] = i
		}
		switch one.Kind {
		case KindEVM:
		case "memory":
			d.Fault(place+".kind", "a chain in memory is only for conch's own tests: to try things, run conch-devnode, of kind %q", KindEVM)
		case "substrate":
			d.Fault(place+".kind", "substrate is not in this version: write %q", KindEVM)
		default:
			d.Fault(place+".kind", "%q is no kind of chain: write %q", one.Kind, KindEVM)
		}
		validateEndpoints(d, place, one)
		validateFinality(d, place, one)
		if one.ChainID == 0 {
			d.Fault(place+".chain_id", "is missing: a transaction for one chain is worthless on another, or worse")
		}
	}
}

// validateFinality refuses depths that a driver cannot follow, and two that contradict each other.
func validateFinality(d *config.Decoder, place string, c Chain) {
	if c.Finality > mostFinality {
		d.Fault(place+".finality", "%d blocks are more than conch remembers: write %d at most", c.Finality, mostFinality)
	}
	if c.MinDepth > mostFinality {
		d.Fault(place+".min_depth", "%d blocks are more than conch remembers: write %d at most", c.MinDepth, mostFinality)
	}
	if c.MinDepth > 0 && (c.Finality > 0 || c.Instant) {
		d.Fault(place+".min_depth", "is for the block that the chain calls final, and finality says which one is: take one of the two out")
	}
}
