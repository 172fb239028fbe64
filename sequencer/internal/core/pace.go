package core

import (
	"slices"

	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
)

// pace measures how long intents take from their last assembly until they are final and stored, in blocks of the head.
type pace struct {
	began map[ledger.Sequence]uint64 // of open intents, when a coordinator has last asked for an attempt
	took  []uint64                   // the newest ones
	told  bool                       // that a range is too short for it
}

const (
	mostPaces  = 31
	leastPaces = 7 // one slow intent is no measure
)

// note is told of each step. It reports whether a range of so many blocks is too short, once.
func (p *pace) note(s ledger.Sequence, to sender.State, head, size uint64) (short bool) {
	switch to {
	case sender.Accepted:
		if p.began == nil {
			p.began = map[ledger.Sequence]uint64{}
		}
		p.began[s] = head
	case sender.Confirmed:
		if began, known := p.began[s]; known {
			p.took = append(p.took, head-min(began, head))
			p.took = p.took[max(0, len(p.took)-mostPaces):]
		}
		delete(p.began, s)
	case sender.Reverted:
		delete(p.began, s)
	}
	if short = !p.told && size < ledger.ShortRange*p.blocks(); short {
		p.told = true
	}
	return short
}

// blocks returns the median; 0 before there are enough.
func (p *pace) blocks() uint64 {
	if len(p.took) < leastPaces {
		return 0
	}
	sorted := slices.Sorted(slices.Values(p.took))
	return sorted[len(sorted)/2]
}
