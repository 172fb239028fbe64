package pending

import (
	"math/big"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// slot is what the machine knows of a slot beyond what is stored.
type slot struct {
	Slot
	tries []try // one for each attempt

	in        *inclusion // in the best chain, as far as we know
	streamed  bool       // the stream of heads showed it: a turn will say when it leaves
	retracted bool
	settled   bool // in a finalized block
	spent     bool // the chain counts the index as used by a final transaction that we do not know

	doubt  bool   // to be looked up
	raise  bool   // wants an attempt that pays more
	outbid bool   // the node has another transaction for it, ours or not
	void   bool   // the chain will never take its call,
	why    string // in its own words

	told    Change // what was last stored
	telling Change // and what is being stored,
	saving  bool   // if something is
}

// try is what became of an attempt.
type try struct {
	reached level
	after   fence.Instant // not to be handed over again before
}

// level is how far an attempt has got, as far as we know.
type level uint8

const (
	kept    level = iota // stored, and with no node
	maybe                // it was handed over and nobody answered
	taken                // a node said that it has it
	pooled               // it was seen in a pool afterwards
	gone                 // it was there and is not any more
	refused              // the chain will never take it
)

// last is the attempt that counts: the one that pays most.
func (s *slot) last() (*Attempt, *try) {
	n := len(s.Attempts) - 1
	return &s.Attempts[n], &s.tries[n]
}

func (s *slot) find(hash chain.Hash) (*Attempt, *try) {
	for i := range s.Attempts {
		if s.Attempts[i].Hash == hash {
			return &s.Attempts[i], &s.tries[i]
		}
	}
	return nil, nil
}

// dear says that its last attempt pays that many times as much as its first: by the
// whole price where there is one, which bounds the tip. Often the first tip is nothing,
// and the least more would be any number of times that.
func (s *slot) dear(times int64) bool {
	first, last := s.Attempts[0].Fee, s.Attempts[len(s.Attempts)-1].Fee
	if first.Max != nil && last.Max != nil {
		return times > 0 && above(last.Max, first.Max, times)
	}
	return times > 0 && above(last.Tip, first.Tip, times)
}

// above compares with b as if that were 1 at least: what cost nothing may be raised too.
func above(a, b *big.Int, times int64) bool {
	if a == nil || b == nil {
		return false
	}
	most := big.NewInt(times)
	if b.Sign() > 0 {
		most.Mul(most, b)
	}
	return a.Cmp(most) > 0
}

// mute says that nothing is known of it yet that would be worth storing.
func (s *slot) mute() bool { return s.doubt && s.told == Change{} }

// outraised says that an attempt is in a pool, and the dearest is not.
func (s *slot) outraised() bool {
	_, t := s.last()
	return t.reached == gone && slices.ContainsFunc(s.tries, func(t try) bool { return t.reached == pooled })
}

// filled says that its dearest attempt does nothing but use the slot up.
func (s *slot) filled() bool { a, _ := s.last(); return a.Filler }

// handedOn says that its intent has another slot, and that its dearest attempt carries the
// intent all the same: sent again, it would do it twice.
func (s *slot) handedOn() bool { return s.Intent == nil && !s.filled() }

// handing says that this may be so by now. Nothing takes its place before it is: whoever
// reads a filler beside an intent that was not handed on takes the call for a void one.
func (s *slot) handing() bool { return s.saving && s.telling.Intent == Again && !s.filled() }

// unsent says that its dearest attempt has to be handed over.
func (s *slot) unsent() bool {
	_, t := s.last()
	return s.in == nil && !s.doubt && !s.raise && !s.handedOn() && !s.handing() && (t.reached == kept || t.reached == gone)
}

// own says that the transaction in the chain is one of the slot's attempts.
func (s *slot) own() bool {
	if s.in == nil {
		return false
	}
	a, _ := s.find(s.in.Hash)
	return a != nil
}

// change is what is to be stored of the slot.
func (s *slot) change(timedOut bool) Change {
	a, t := s.last()
	c := Change{Index: s.Index, Hash: a.Hash}
	// Somebody else's is no news of ours before it is final.
	in := s.settled || s.own()
	if in {
		c.Hash, c.Block, c.Failed = s.in.Hash, s.in.Block, s.in.Failed
	}
	if s.void {
		c.Why = s.why
	}
	switch {
	case s.settled:
		c.Status, c.Intent = s.verdict()
	case in && timedOut:
		c.Status = FinalityTimeout
	case in:
		c.Status = InBlock
	case s.retracted:
		c.Status = Retracted
	case t.reached == pooled:
		c.Status = Broadcast
	case t.reached == taken:
		c.Status = Ready
	default:
		c.Status = Future
	}
	return c
}

// verdict says how a settled slot ends, for it and for its intent.
func (s *slot) verdict() (Status, Fate) {
	winner, _ := s.find(s.in.Hash)
	switch {
	case winner != nil && !winner.Filler:
		return Finalized, Done
	case winner != nil && s.Intent == nil:
		return Finalized, Open // it closed a gap
	case s.Intent == nil:
		return Usurped, Open
	case s.void:
		return Usurped, Rejected
	case s.Cancel:
		return Usurped, Cancelled
	case winner != nil: // a filler that nobody has asked for: its call was void, as was known before the rows were read
		return Usurped, Rejected
	default:
		return Usurped, Again
	}
}
