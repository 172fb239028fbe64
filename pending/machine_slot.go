package pending

import (
	"math/big"
	"slices"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// slot is a stored slot with what the machine knows of it.
type slot struct {
	Slot
	tries []try // one for each attempt

	in        *inclusion // the transaction with this nonce in the best chain, if known
	streamed  bool       // in was read from the stream of heads, so a turn will report if it leaves
	retracted bool       // its block has left the chain
	settled   bool       // in is final
	spent     bool       // the nonce is used by an unknown final transaction

	doubt  bool   // to be looked up
	raise  bool   // needs an attempt that pays more
	outbid bool   // the node has another transaction with this nonce
	void   bool   // the chain will never include its call
	why    string // the chain's reason for that

	told    Change // the state last stored
	telling Change // the state being stored, if saving
	saving  bool
}

// try is what the machine knows of an attempt.
type try struct {
	reached level
	after   fence.Instant // not to be sent again before
}

// level is how far an attempt has got.
type level uint8

const (
	kept    level = iota // stored, not sent
	maybe                // sent, and the answer is missing or leaves it open
	taken                // accepted by a node
	pooled               // found in a pool
	gone                 // looked up and not found, or its block has left the chain
	refused              // the chain will never include it
)

// last returns the newest attempt, which pays most.
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

// dear reports whether the last attempt pays more than that many times the first. It compares the
// maximum price, if there is one, and not the tip: a first tip is often 0.
func (s *slot) dear(times int64) bool {
	first, last := s.Attempts[0].Fee, s.Attempts[len(s.Attempts)-1].Fee
	if first.Max != nil && last.Max != nil {
		return times > 0 && above(last.Max, first.Max, times)
	}
	return times > 0 && above(last.Tip, first.Tip, times)
}

// above reports whether a is more than that many times b, where 0 counts as 1.
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

// mute reports whether the slot has no state worth storing yet.
func (s *slot) mute() bool { return s.doubt && s.told == Change{} }

// outraised reports whether an older attempt is in a pool and the dearest is gone.
func (s *slot) outraised() bool {
	_, t := s.last()
	return t.reached == gone && slices.ContainsFunc(s.tries, func(t try) bool { return t.reached == pooled })
}

// filled reports whether the dearest attempt is a filler.
func (s *slot) filled() bool { a, _ := s.last(); return a.Filler }

// handedOn reports whether the intent has another slot but its call is still in the dearest
// attempt, which must not be sent again.
func (s *slot) handedOn() bool { return s.Intent == nil && !s.filled() }

// handing reports whether the write that detaches the intent is in flight. Do not replace the
// attempt until it is confirmed: a successor would take a filler beside an intent for a void call.
func (s *slot) handing() bool { return s.saving && s.telling.Intent == Again && !s.filled() }

// unsent reports whether the dearest attempt is to be sent.
func (s *slot) unsent() bool {
	_, t := s.last()
	return s.in == nil && !s.doubt && !s.raise && !s.handedOn() && !s.handing() && (t.reached == kept || t.reached == gone)
}

// own reports whether the transaction in the chain is one of the slot's attempts.
func (s *slot) own() bool {
	if s.in == nil {
		return false
	}
	a, _ := s.find(s.in.Hash)
	return a != nil
}

// change returns the state of the slot as it is to be stored.
func (s *slot) change(timedOut bool) Change {
	a, t := s.last()
	c := Change{Index: s.Index, Hash: a.Hash}
	// Another sender's transaction changes nothing before it is final.
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

// verdict returns the end of a settled slot and of its intent.
func (s *slot) verdict() (Status, Fate) {
	winner, _ := s.find(s.in.Hash)
	switch {
	case winner != nil && !winner.Filler:
		return Finalized, Done
	case winner != nil && s.Intent == nil:
		return Finalized, Open // it filled a gap
	case s.Intent == nil:
		return Usurped, Open
	case s.void:
		return Usurped, Rejected
	case s.Cancel:
		return Usurped, Cancelled
	case winner != nil: // a filler, and no cancellation: before the rows were loaded, the call was known to be void
		return Usurped, Rejected
	default:
		return Usurped, Again
	}
}
