package committee

import (
	"slices"

	"github.com/conchhq/conch/sequencer/ledger"
)

// past is what the canonical chain has done with attempts and states: why an entry was skipped, and whether what a coordinator
// builds on could still land.
type past struct {
	attempts map[ledger.Hash]*attempt
	makers   map[ledger.StateID]ledger.Hash
	spenders map[ledger.StateID]spending
}

// attempt is one that an owner has answered a coordinator with.
type attempt struct {
	ledger.Attempt
	until uint64        // the last block of its newest grant; 0: it has none
	block uint64        // that has its entry; 0: none
	fate  ledger.Reason // there
}

type spending struct {
	by    ledger.Hash
	block uint64
}

func newPast() past {
	return past{attempts: map[ledger.Hash]*attempt{}, makers: map[ledger.StateID]ledger.Hash{}, spenders: map[ledger.StateID]spending{}}
}

// hear takes an attempt that its owner has made.
func (p *past) hear(h ledger.Hash, a ledger.Attempt, s ledger.Scheme) {
	p.attempts[h] = &attempt{Attempt: a}
	for i := range a.Outputs {
		p.makers[s.State(h, i)] = h
	}
}

// granted notes the last block of an attempt's grant.
func (p *past) granted(h ledger.Hash, until uint64) {
	if a := p.attempts[h]; a != nil {
		a.until = max(a.until, until)
	}
}

// mined takes what a block did with an entry; back takes it back. What has landed may be there again, and is skipped then.
func (p *past) mined(e ledger.Entry, f ledger.Fact, block uint64) {
	if a := p.attempts[f.Assembled]; a != nil && (a.block == 0 || a.fate != ledger.Taken) {
		a.block, a.fate = block, f.Skipped
	}
	if f.Skipped == ledger.Taken {
		for _, id := range e.Inputs {
			p.spenders[id] = spending{f.Assembled, block}
		}
	}
}

func (p *past) back(e ledger.Entry, f ledger.Fact, block uint64) {
	if a := p.attempts[f.Assembled]; a != nil && a.block == block {
		a.block = 0
	}
	if f.Skipped == ledger.Taken {
		for _, id := range e.Inputs {
			delete(p.spenders, id)
		}
	}
}

// needs returns the states without which an attempt does not land.
func needs(a ledger.Attempt) []ledger.StateID { return slices.Concat(a.Inputs, a.Reads) }

// dead reports whether an attempt could not land any more as the chain was after a block: its entry was skipped, its grant was
// over, a state that it needs was spent by another attempt, or what would create one is dead.
func (p *past) dead(h ledger.Hash, block uint64) bool {
	seen := map[ledger.Hash]bool{}
	for next := []ledger.Hash{h}; len(next) > 0; {
		h := next[len(next)-1]
		next = next[:len(next)-1]
		a := p.attempts[h]
		switch {
		case seen[h] || a == nil:
			continue
		case a.block > 0 && a.block <= block && a.fate == ledger.Taken:
			continue
		case a.block > 0 && a.block <= block, a.until > 0 && a.until <= block:
			return true
		}
		seen[h] = true
		for _, id := range needs(a.Attempt) {
			if s := p.spenders[id]; s.block > 0 && s.block <= block && s.by != h {
				return true
			}
			next = append(next, p.makers[id])
		}
	}
	return false
}

// why says what an entry was skipped for that its own coordinator has handed over when a block was the last one.
func (c *chain) why(e ledger.Entry, f ledger.Fact, handed uint64) string {
	switch f.Skipped {
	case ledger.Expired:
		if e.Grant.ValidUntil <= handed {
			return "was expired when it was handed over"
		}
		return "expired in the pool"
	case ledger.Repeated:
		if as, _, _ := c.head.Landed(e.Intent); as == f.Assembled {
			return "had landed"
		}
		return "another attempt had landed, or it was cancelled"
	case ledger.Missing:
	default:
		return f.Skipped.String()
	}
	p := &c.past
	for _, id := range needs(e.Attempt) {
		s, is := p.spenders[id]
		maker := p.attempts[p.makers[id]]
		switch {
		case is && s.by != f.Assembled:
			return "another attempt had spent it"
		case c.head.Unspent(id):
		case maker == nil || maker.block == 0:
			return "its maker still waits"
		case maker.fate == ledger.Missing:
			return "its maker was skipped"
		case maker.fate != ledger.Taken:
			return "its maker was expired or repeated"
		}
	}
	return "its maker comes later in the block"
}
