package pending

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// slot is a stored slot with what the machine knows of it. What each step looks at comes first: with thousands of slots,
// most of a step is spent waiting for memory.
type slot struct {
	in           *chain.Inclusion // the transaction with this nonce in the best chain, if known; see also isVacant
	inSince      fence.Instant    // since when in is known; 0: it is not, or it was found just now
	streamed     bool             // in was read from the stream of heads, so a turn will report if it leaves
	contradicted bool             // a lookup no longer finds in: ask whether its block is still linked
	inFinal      bool             // in is final, by two witnesses
	doubt        bool             // to be looked up
	spent        bool             // search for the transaction that used the nonce
	guest        bool             // it had left the line and has come back
	payMore      bool             // the last attempt is too cheap or refused: replace it by one that pays more
	capped       bool             // the attempt that it needs is above the limit
	Slot

	due        fence.Instant // when its call is of no use any more; 0: it is for ever, or as its LastBlock says
	first      chain.Block   // the final block of which the block of in is an ancestor; zero if it is not known
	asked      uint64        // the tip's finals when a second opinion was last asked for
	deliveries []delivery    // one for each attempt
	saving     *Change       // the state being stored, nil if none is
	saved      Change        // the state last stored

	retracted bool          // its block has left the chain
	refuted   bool          // a second witness has said that in is not in its block, or that this block is not final
	firstBy   string        // the endpoint that showed first
	witnesses [2]string     // those that have called in final
	strayed   fence.Instant // when a block of its was last found to be no ancestor; 0: none was
	adopted   bool          // in is no stored attempt, and carries the intent's call: its row was lost

	countAt      chain.Block // the head as of which a witness is asked to count, if the nonce is vacant
	finalAtCount chain.Block // the final block when the first witness counted
	uncounted    bool        // a witness has counted the nonce as not used, whatever the counts of heads say

	passed   uint64 // the height at which the chain first counted the nonce as used, and in was not known; 0: it does not
	searchAt uint64 // the height at which the search for spent goes on; 0: it begins

	again       bool          // send the last attempt again as it is, although a node has it
	refit       bool          // it was signed anew since a node called an attempt unfit, with a new estimate of its gas
	stuck       bool          // payMore is only since it waits: an attempt that pays enough is not replaced
	outbid      bool          // the node has another transaction with this nonce
	void        bool          // the chain will never include its call
	dead        bool          // the life is over, and the final chain has none of its attempts: no block ever will
	brief       bool          // it is a pad
	why         string        // the chain's reason for that
	waits       string        // an alarm about the slot, or a node's words, for people
	untaken     chain.Outcome // why no node is known to have the slot's transaction; zero if one has it
	invalidAt   uint64        // the height at which a node first called an attempt invalid; 0: none did
	invalidFrom fence.Instant // the instant of that

	wear

	owes   *big.Int // what mostCost returned last
	priced int      // the number of attempts then
}

// delivery is how far an attempt has got on its way into a block.
type delivery struct {
	reached level
	after   fence.Instant // not to be sent again before
}

// notTaken notes that a node does not have the attempt. An older one of an earlier term may still be in its pool.
func (d *delivery) notTaken() {
	if d.reached == left {
		d.reached = gone
	}
}

type level uint8

const (
	kept    level = iota // stored, not sent
	left                 // stored by an earlier term, which may have sent it
	maybe                // sent, and the answer is missing or leaves it open
	taken                // accepted by a node
	pooled               // found in a pool
	gone                 // looked up and not found, or its block has left the chain
	refused              // the chain will never include it
	worn                 // a node has called it outworn
)

// restoredSlot returns a slot of an earlier term, given the account's next nonce at the head.
func restoredSlot(stored Slot, best uint64) *slot {
	s := &slot{Slot: stored, deliveries: slices.Repeat([]delivery{{reached: left}}, len(stored.Attempts))}
	if !s.Final {
		s.saved = s.Last
	}
	if s.Final && s.Last.Block.Hash != "" { // the count may be of an endpoint that is behind: nothing is taken back for it
		s.saved = s.Last
		s.setPlace(s.Last.asInclusion(), false)
		s.doubt = true
		return s
	}
	if s.Index >= best { // a count that is behind: the node's answer to the attempt asks for a look
		s.restoreCap()
		return s
	}
	if s.doubt = true; s.Last.Block.Hash != "" && !s.Final {
		s.setPlace(s.Last.asInclusion(), false)
	}
	return s
}

// asInclusion returns the transaction in a block that a stored state describes.
func (c Change) asInclusion() *chain.Inclusion {
	return &chain.Inclusion{Index: c.Index, Hash: c.Hash, Block: c.Block, Effect: c.Effect}
}

// restoreCap takes over that an earlier term has found the slot capped, until it is found out anew.
func (s *slot) restoreCap() {
	if said := s.Last.Waits; strings.HasPrefix(said, Fees.String()+": ") && !s.Final {
		s.capped, s.waits = true, said
	}
}

// isUnheard reports whether nothing is known of a slot of an earlier term but what is stored.
func (s *slot) isUnheard() bool {
	_, delivery := s.lastAttempt()
	return s.in == nil && !s.retracted && !s.dead && delivery.reached == left
}

// endStands reports whether the slot is stored as final in the block in which it is believed to be. That stays so until
// its block has left the chain, or is confirmed anew.
func (s *slot) endStands() bool {
	return s.saved.Status.closes() && !s.inFinal && s.in != nil && s.in.Block.Hash == s.saved.Block.Hash
}

// setPlace notes the transaction with this nonce in the best chain.
func (s *slot) setPlace(in *chain.Inclusion, streamed bool) {
	if in == nil || s.in == nil || in.Block.Hash != s.in.Block.Hash {
		s.inSince = 0
	}
	s.in, s.streamed, s.first, s.asked, s.contradicted, s.refuted, s.untaken = in, streamed, chain.Block{}, 0, false, false, chain.Outcome{}
	s.countAt, s.finalAtCount, s.uncounted, s.witnesses = chain.Block{}, chain.Block{}, false, [2]string{}
	s.doubt, s.spent, s.payMore, s.stuck, s.passed, s.searchAt = false, false, false, false, 0, 0
}

// noteFinal notes that in is final, by two witnesses. That a lookup has not found it is answered by that: if it were asked further, nothing would take
// the answer, and it would be asked again at once.
func (s *slot) noteFinal() { s.inFinal, s.contradicted = true, false }

// noteAccepted notes that a node has an attempt.
func (s *slot) noteAccepted(at *delivery) {
	s.invalidAt, s.untaken = 0, chain.Outcome{}
	if !s.capped {
		s.waits = ""
	}
	if at.reached != pooled {
		at.reached = taken
	}
}

// noteMaybe notes that a node may have an attempt.
func (s *slot) noteMaybe(at *delivery) {
	if at.reached == kept || at.reached == left || at.reached == gone {
		at.reached = maybe
	}
	s.doubt = true
}

// notTaken notes why an endpoint has not taken an attempt, if none has taken any. Of answers that mean the same
// the first one stays: some have a number in them that changes with each block, and each change is a write.
func (s *slot) notTaken(answer chain.Outcome) {
	if answer.Text != "" && !s.isTaken() && (s.untaken.Text == "" || s.untaken.Verdict != answer.Verdict || s.untaken.By != answer.By) {
		s.untaken = answer
	}
}

// isTaken reports whether a node has an attempt, as far as is known.
func (s *slot) isTaken() bool {
	return slices.ContainsFunc(s.deliveries, func(d delivery) bool { return d.reached == taken || d.reached == pooled })
}

// lastAttempt returns the newest attempt: none pays more.
func (s *slot) lastAttempt() (*chain.Signed, *delivery) {
	n := len(s.Attempts) - 1
	return &s.Attempts[n], &s.deliveries[n]
}

func (s *slot) findAttempt(hash chain.Hash) (*chain.Signed, *delivery) {
	for i := range s.Attempts {
		if s.Attempts[i].Hash == hash {
			return &s.Attempts[i], &s.deliveries[i]
		}
	}
	return nil, nil
}

// isDear reports whether the last attempt pays more than times the fee of the first. It compares the
// maximum price, if there is one, and not the tip: a first tip is often 0.
func (s *slot) isDear(times int64) bool {
	first, last := s.Attempts[0].Fee, s.Attempts[len(s.Attempts)-1].Fee
	if first.Max != nil && last.Max != nil {
		return times > 0 && above(last.Max, first.Max, times)
	}
	return times > 0 && above(last.Tip, first.Tip, times)
}

// whyDear says what a slot needs that is dear, and what it may pay: times the fee of its first attempt.
func (s *slot) whyDear(times int64) string {
	attempt, _ := s.lastAttempt()
	last, first := attempt.Fee.Max, s.Attempts[0].Fee.Max
	if last == nil || first == nil {
		last, first = attempt.Fee.Tip, s.Attempts[0].Fee.Tip
	}
	if last == nil || first == nil {
		return ""
	}
	return fmt.Sprintf("it would have to pay more than %v, and %d times its first fee, %v, is the most", last, times, new(big.Int).Mul(first, big.NewInt(times)))
}

// above reports whether a is more than times b, where a b of 0 counts as 1.
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

// keepLast ends the wish for an attempt that pays more. The last attempt is the one to send again,
// since a node may have dropped it, or may accept a filler after all.
func (s *slot) keepLast() {
	s.payMore, s.stuck = false, false
	if _, delivery := s.lastAttempt(); s.lastIsFiller() && delivery.reached == refused || delivery.reached == left {
		delivery.reached = gone
	}
}

// withNode reports whether a node has the last attempt, as far as is known, and no block has one.
func (s *slot) withNode() bool {
	_, delivery := s.lastAttempt()
	return s.in == nil && !s.doubt && (delivery.reached == taken || delivery.reached == pooled)
}

// olderPooled reports whether a pool has an older attempt and no node has the last one.
func (s *slot) olderPooled() bool {
	_, last := s.lastAttempt()
	return last.reached == gone && slices.ContainsFunc(s.deliveries, func(d delivery) bool { return d.reached == pooled })
}

// mostCost returns the most that one of the attempts may take from the account's balance: a node has any of them.
func (s *slot) mostCost() *big.Int {
	if s.priced == len(s.Attempts) {
		return s.owes
	}
	most := new(big.Int)
	for _, a := range s.Attempts {
		cost := new(big.Int)
		if a.Fee.Max != nil {
			cost.Mul(a.Fee.Max, new(big.Int).SetUint64(a.Gas))
		}
		if !a.Filler && s.Value != nil {
			cost.Add(cost, s.Value)
		}
		if cost.Cmp(most) > 0 {
			most = cost
		}
	}
	s.owes, s.priced = most, len(s.Attempts)
	return most
}

func (s *slot) lastIsFiller() bool { attempt, _ := s.lastAttempt(); return attempt.Filler }

// needsFiller reports whether the call in the last attempt is not to be carried out in this slot.
func (s *slot) needsFiller() bool {
	return s.handedOn() || !s.lastIsFiller() && (s.void || s.Cancel || s.Late)
}

// handedOn reports whether the intent has another slot but its call is still in the last attempt,
// which must not be sent again.
func (s *slot) handedOn() bool { return s.Intent == nil && !s.lastIsFiller() }

// handingOn reports whether the write that detaches the intent is in flight. Do not replace the
// attempt until it is confirmed: a successor would take a filler beside an intent for a void call.
func (s *slot) handingOn() bool {
	return s.saving != nil && s.saving.Intent == Again && !s.lastIsFiller()
}

// isUnsent reports whether the last attempt is to be sent. One of which the block is in doubt is: if it has left the chain,
// nothing else brings the next one, and if it has not, the same bytes do no harm.
func (s *slot) isUnsent() bool {
	_, delivery := s.lastAttempt()
	if s.in != nil && !s.contradicted || s.doubt || s.payMore || s.outworn || s.handedOn() || s.handingOn() {
		return false
	}
	switch delivery.reached {
	case kept, gone:
		return true
	case left: // perhaps no node has the call, which is to be replaced
		return !s.needsFiller()
	default:
		return s.again
	}
}

// isOwn reports whether the transaction in the chain is one of the slot's attempts.
func (s *slot) isOwn() bool {
	if s.in == nil {
		return false
	}
	attempt, _ := s.findAttempt(s.in.Hash)
	return attempt != nil
}

// asChange returns the state of the slot as it is to be stored.
func (s *slot) asChange(timedOut bool) Change {
	attempt, delivery := s.lastAttempt()
	c := Change{Index: s.Index, Hash: attempt.Hash}
	// Another sender's transaction changes nothing before it is final.
	included := s.inFinal || s.isOwn()
	if included {
		c.Hash, c.Block, c.Effect, c.Witnesses = s.in.Hash, s.in.Block, s.in.Effect, s.witnesses
	}
	if s.void {
		c.Why = s.why
	}
	switch c.Waits = s.waits; {
	case s.inFinal:
		c.Waits = ""
	case c.Waits == "" && s.untaken.Text != "" && s.in == nil:
		c.Waits = "not accepted: " + s.untaken.Said()
	}
	switch {
	case s.inFinal:
		c.Status, c.Intent = s.finalState()
	case s.dead:
		if c.Status, c.Waits = Usurped, ""; s.Intent != nil {
			c.Intent = Again
		}
	case included && timedOut:
		c.Status = FinalityTimeout
	case included:
		c.Status = InBlock
	case s.retracted:
		c.Status = Retracted
	case delivery.reached == pooled:
		c.Status = Broadcast
	case delivery.reached == taken:
		c.Status = Ready
	default:
		c.Status = Future
	}
	return c
}

// finalState returns the status of a slot whose transaction is final, and the fate of its intent.
func (s *slot) finalState() (Status, Fate) {
	winner, _ := s.findAttempt(s.in.Hash)
	switch {
	case winner != nil && !winner.Filler, s.adopted:
		return Finalized, Done
	case winner != nil && s.Intent == nil:
		return Finalized, Open // it filled a gap
	case s.Intent == nil:
		return Usurped, Open
	case s.void:
		return Usurped, Rejected
	case s.Cancel:
		return Usurped, Cancelled
	case s.Late:
		return Usurped, Expired
	case winner != nil: // a filler, and no cancellation: before the rows were loaded, the call was known to be void
		return Usurped, Rejected
	default:
		return Usurped, Again
	}
}
