package pending

import (
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// account is what all parts of the machine know of the account: its slots, the counts of its nonces, what the chain has
// shown, and what is under way. Each part has a pointer to the one account, and what it alone needs besides.
//
// It decides nothing. Its methods change a slot together with the alarms about it.
type account struct {
	set settings
	tip
	lived

	slots      line   // the slots that are not stored as final, but for those in deep
	deep       deep   // the slots that have left the line
	next       uint64 // the nonce that the next intent gets; it never goes down
	best       uint64 // the account's next nonce at the head, at most next: what is above, the store does not know
	bestEver   uint64 // the highest best ever
	loadedFrom uint64 // read the rows again if best drops below this: slots under it may not be in memory
	finalBelow uint64 // raise the alarm Rewound if best drops below this: the nonces under it were final

	census   census
	alarms   map[Alarm]bool // whether an alarm is raised, by its cause and subject
	funds    funds
	pace     pace
	underway underway
	out      []action // the actions of the current Step
}

// census is what one pass over all slots of the line has found, in each Step.
type census struct {
	inFlight int   // number of slots that are not in a block
	guests   int   // number of slots that have come back into the line, but for those to be sent, which may wait for a run
	doubts   bool  // some slots are to be looked up
	spent    bool  // some nonces were used by an unknown transaction
	outdated bool  // some slots may need another attempt
	unsent   bool  // some slots have an attempt to send
	capped   *slot // the lowest one that is capped

	unlinked    bool // some slots may have a block that is not known to be an ancestor of the final one
	unconfirmed bool // some slots wait for a second opinion
}

// takeCensus visits all slots.
func (a *account) takeCensus(now fence.Instant) {
	a.census = census{}
	c := &a.census
	for _, s := range a.slots.inOrder() {
		if s.in == nil || s.contradicted {
			a.weighWear(s)
			c.outdated = c.outdated || s.wantsRenewal()
		}
		if s.in == nil {
			a.callBack(s, now)
			if s.Index >= a.best { // below, a block has its nonce
				c.inFlight++
				if s.capped && c.capped == nil {
					c.capped = s
				}
			}
			c.unsent = c.unsent || s.isUnsent()
			c.outdated = c.outdated || s.payMore || s.needsFiller()
		} else if s.contradicted {
			c.unsent = c.unsent || s.isUnsent()
		}
		if s.in != nil && s.inSince == 0 {
			s.inSince = now
		}
		if s.guest && (s.in != nil || s.Index < a.best) {
			c.guests++
		}
		c.doubts = c.doubts || s.doubt
		c.spent = c.spent || s.spent
		c.unlinked = c.unlinked || s.contradicted || s.isUnlinked(a.final)
		c.unconfirmed = c.unconfirmed || s.wantsOpinion(a.finals) || s.wantsCount(&a.tip)
	}
	c.inFlight += a.deep.countAway(a.best)
}

// giveOrder adds an action to those of this Step.
func (a *account) giveOrder(order action) {
	a.underway.beginErrand(order.errand())
	a.out = append(a.out, order)
}

// noteBest takes the account's next nonce at the head.
func (a *account) noteBest(count uint64) {
	a.best = min(count, a.next)
	for _, s := range a.slots.inOrder() { // one in doubt does not leave the line
		if s.uncounted {
			a.best = min(a.best, s.Index)
			break
		}
	}
	a.deep.noteUncounted(a.best)
	a.bestEver = max(a.bestEver, a.best)
	if a.best < a.finalBelow || a.best >= a.bestEver {
		a.setAlarm(Alarm{Cause: Rewound, Whole: true}, a.best < a.finalBelow)
	}
}

// placeSlot notes the transaction with the slot's nonce in the best chain.
func (a *account) placeSlot(s *slot, in *chain.Inclusion, streamed bool) {
	a.setAlarm(Alarm{Cause: Consumed, Index: s.Index}, false)
	if s.Final && s.in != nil && s.in.Block.Hash != in.Block.Hash {
		a.setAlarm(Alarm{Cause: Rewound, Index: s.Index}, true)
	}
	a.uncapSlot(s)
	s.setPlace(in, streamed)
}

// retractSlot notes that the slot's block has left the chain. The node may not have put the transaction
// back into its pool, so the last attempt is sent again.
func (a *account) retractSlot(s *slot) {
	a.setAlarm(Alarm{Cause: Rewound, Index: s.Index}, s.inFinal || s.Final)
	a.setAlarm(Alarm{Cause: Disagree, Index: s.Index}, false)
	a.setAlarm(Alarm{Cause: Consumed, Index: s.Index}, false)
	s.setPlace(nil, false)
	s.inFinal, s.adopted, s.retracted = false, false, true
	_, delivery := s.lastAttempt()
	delivery.reached = gone
}

// A slot is capped if the attempt that it needs is above the limit of the account, or of its own first fee. It keeps
// its attempts, which are sent again, until fees fall or more is allowed. It never ends by itself.

// capSlot notes that a slot is capped, and why: what is needed, and what is allowed.
func (a *account) capSlot(s *slot, why string) {
	s.capped = true
	a.setAlarm(Alarm{Cause: Fees, Index: s.Index, Why: why}, true)
	s.waits = Fees.String() + ": " + why // the alarm is reported once, and what is needed changes
}

// uncapSlot notes that the slot needs no attempt above the limit.
func (a *account) uncapSlot(s *slot) {
	if s.capped {
		s.capped, s.waits = false, "" // no alarm ends that, if an earlier term found it capped
		a.setAlarm(Alarm{Cause: Fees, Index: s.Index}, false)
	}
}

// pauseSends stops signing and sending until the next block, or for Patience if none comes.
func (a *account) pauseSends(now fence.Instant) {
	a.pace.paused, a.pace.resume = a.head.Number+1, now.Add(a.set.Patience)
}

// isPaused reports whether nothing is signed or sent yet.
func (a *account) isPaused(now fence.Instant) bool { return a.pace.isPaused(a.head.Number, now) }

// timedOut reports whether the slot's transaction is in its block for so long that its state says so (S26). Blocks are
// no measure: on some chains 512 of them are two minutes, and finality takes twenty.
func (a *account) timedOut(s *slot, now fence.Instant) bool {
	return s.in != nil && a.set.isOverdue(s.inSince, now)
}

// storedIn returns since when a slot of an earlier term is in its block, 0 if no block was stored. A stored timeout
// stays one.
func (a *account) storedIn(s *slot, now fence.Instant) fence.Instant {
	if s.in == nil {
		return 0
	}
	return a.set.storedSince(s.Age, s.Last.Status == FinalityTimeout, now)
}

// isOverdue reports whether what has been in its block since an instant counts as not becoming final.
func (s *settings) isOverdue(since, now fence.Instant) bool {
	return since != 0 && s.FinalAfter > 0 && now >= since.Add(s.FinalAfter)
}

func (s *settings) storedSince(age time.Duration, timedOut bool, now fence.Instant) fence.Instant {
	if timedOut {
		age += max(0, s.FinalAfter)
	}
	return now.Add(-age)
}
