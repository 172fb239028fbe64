package pending

import (
	"fmt"
	"slices"

	"github.com/conchhq/conch/chain"
)

// life decides when a life of the account is over, what becomes of its slots, and when the next one begins (Z6–Z9).
//
// It takes what blocks have, loaded, found, confirmed, stored and saved. It asks for search and confirm, for the pad, and for the save with
// which the next life begins.
//
// On some chains an account may cease to exist, and begin anew with the nonce 0. What was signed in the life before is then good once more,
// until it has worn out, and anybody may send it. So:
//
//   - A life begins with a pad: the first nonce that is used in it is a filler that is soon outworn. Nothing else is signed before the pad is
//     final and dead. Then what was signed in an earlier life, or by nobody knows whom before conch had the account, gets no further than
//     to the pad's nonce.
//   - Where a block has the end of the account, or the chain counts fewer nonces than are final, the account halts: nothing is signed or
//     sent, and no slot is taken back for a count, which may be of another life. A branch that dies takes its ends along.
//   - An end counts once its block is final by two witnesses, as that of a transaction does. If there is a low count and no block says why,
//     nobody knows: an alarm tells a person, who may say that the life is over (Life.Over).
//   - Then the old slots wait until no block takes any of their attempts: the final chain has passed the highest Until. That it has none of
//     them is read in its blocks, up to one that two witnesses call final (Z3). Whatever is found there counts, and is done first. What is
//     not found is dead; its intents wait for slots of the next life.
//   - Only then that life is stored, in the write that ends the dead slots, and the rows are read anew.
//
// Rows of all lives have one numbering: in a life the nonce of a row is its Index less Life.First. So no row is ever numbered twice, and all
// other parts of the machine see an account whose nonces never begin anew.
type life struct {
	*account
	ending ending
}

// lived is what all parts know of the account's life.
type lived struct {
	life   Life
	until  uint64 // the highest Until of what was signed in it
	padded bool   // its pad is final and dead, or chains of its kind need none
	landed bool   // one of our transactions is final in it, as far as this leader has seen
}

// ending is what is known of the end of the life; zero: there is no sign of one.
type ending struct {
	asks  bool        // the count is below what is final
	askAt uint64      // the height at which the search for the reason goes on
	risen bool        // the count is so no longer: an endpoint was behind
	block chain.Block // has the end of the account; zero if none is known

	streamed bool        // block is known from the stream of heads
	first    chain.Block // the final block of which block is an ancestor
	firstBy  string
	asked    uint64 // the tip's finals when a second opinion was last asked for

	over   bool        // by two witnesses, or a person
	of     chain.Block // the final block up to which the old attempts are looked for
	ofBy   string
	denied uint64 // the tip's finals when such a block, or what was read below it, did not do: another one is needed
	sure   bool   // a second witness calls it final
	readAt uint64 // the height at which that goes on
	read   bool   // nothing is left to be read: what was not found is dead

	opening bool // the next life is being stored
}

// briefHalf is half of the shortest era: a pad may be signed anew as often.
const briefHalf = 2

// isHalted reports whether nothing is signed or sent, since the life is over or may be.
func (l *life) isHalted() bool { return l.ending != ending{} }

// isPadding reports whether nothing is signed but pads.
func (a *account) isPadding() bool { return a.set.Lives && !a.padded }

// above returns the height from which on the account's transactions are read: below is another life.
func (a *account) above(height uint64) uint64 { return max(1, a.life.Since+1, height) }

// takeBlock takes what a new block has of the account, and leaves what is of this life. It reports whether that has ended, perhaps: then
// the count is of another one.
func (l *life) takeBlock(in *turned) (ended bool) {
	if !l.set.Lives {
		return false
	}
	if l.isHalted() {
		l.ending.risen = l.ending.asks && l.ending.block.Hash == "" && !l.ending.over && in.Count >= l.finalBelow
		in.Inclusions = nil
		ended = true
	}
	for i, one := range in.Inclusions {
		if one.Reaped {
			l.ending = ending{block: in.Turn.Block, streamed: true}
			in.Inclusions, ended = in.Inclusions[:i], true
			break
		}
	}
	if ended {
		in.Count = l.best
	}
	return ended
}

// takeReverted takes that a block has left the chain: an end that it has was none.
func (l *life) takeReverted(b chain.Block) {
	if e := &l.ending; e.streamed && !e.over && e.block.Number >= b.Number {
		*e = ending{}
	}
}

// linkFollowed links the end's block to a new final one, as account.linkFollowed does with transactions.
func (l *life) linkFollowed() {
	if e := &l.ending; e.streamed && e.first.Hash == "" && e.block.Number <= l.final.Number {
		e.first, e.firstBy = l.final, l.finalBy
	}
}

// forgetFollowed takes that the stream of heads broke off: the block may have left the chain.
func (l *life) forgetFollowed() {
	if l.ending.streamed && !l.ending.over {
		l.ending = ending{}
	}
}

// takeLoaded takes what is stored of the life, and hides a count that may be of another one.
func (l *life) takeLoaded(in *loaded) {
	if !l.set.Lives {
		return
	}
	stored := in.Snapshot
	if stored.Life.Number != l.life.Number { // the next one has begun
		l.ending, l.landed, l.padded = ending{}, false, false
		l.setAlarm(Alarm{Cause: Reaped, Whole: true}, false)
	}
	in.Snapshot.Next, in.Snapshot.Since = max(stored.Next, stored.Life.First), max(stored.Since, stored.Life.Since)
	stored = in.Snapshot
	l.life, l.until, l.ending.opening = stored.Life, stored.Until, false
	l.padded = l.padded || stored.Begun
	lowest := stored.lowestOpen()
	switch e := &l.ending; {
	case stored.Life.Over && !e.over:
		*e = ending{over: true}
	case in.Best >= lowest && !e.over && e.block.Hash == "":
		*e = ending{}
		l.setAlarm(Alarm{Cause: Reaped, Whole: true}, false)
	case in.Best < lowest && !l.isHalted():
		*e = ending{asks: true, askAt: l.above(stored.Since - min(stored.Since, reach))}
	}
	if l.isHalted() { // what has been read is of slots that are no more; and until blocks say otherwise all stays as it is stored
		l.ending.of, l.ending.sure, l.ending.read = chain.Block{}, false, false
		in.Best = in.Snapshot.Next
	}
}

// lowestOpen returns the lowest nonce that is not stored as final.
func (s *Snapshot) lowestOpen() uint64 {
	lowest := s.Next
	for _, one := range s.Slots {
		if !one.Final {
			lowest = min(lowest, one.Index)
		}
	}
	for _, one := range s.Runs {
		lowest = min(lowest, one.First)
	}
	return lowest
}

// ask takes the next step to the end of the life.
func (l *life) ask() {
	e := &l.ending
	if l.final.Hash == "" {
		return
	}
	switch {
	case !e.over && e.block.Hash == "":
		if e.askAt <= l.final.Number && !l.underway.isUnderway(toSearch) {
			l.giveOrder(search{Life: true, Of: l.final, From: e.askAt})
		}
	case !e.over:
		l.askOpinion(chain.Inclusion{Index: noFinal, Block: e.block, Reaped: true}, e.first, e.firstBy)
	case e.of.Hash == "":
		if l.isPast() && len(l.deep.order) == 0 && e.denied < l.finals {
			e.of, e.ofBy, e.asked = l.final, l.finalBy, 0
			l.ask()
		}
	case !e.sure:
		l.askOpinion(chain.Inclusion{Index: noFinal, Block: e.of}, e.of, e.ofBy)
	case !e.read:
		if !l.underway.isUnderway(toSearch | toSave) {
			l.giveOrder(search{Life: true, Of: e.of, From: e.readAt})
		}
	case slices.ContainsFunc(l.slots.inOrder(), func(s *slot) bool { return s.in == nil && !s.dead }):
		e.of, e.denied, e.sure, e.read = chain.Block{}, l.finals, false, false // its block was none: the reading begins anew at the next final one
	case !slices.ContainsFunc(l.slots.inOrder(), func(s *slot) bool { return !s.dead }) && l.underway == (underway{}):
		e.opening = true
		l.giveOrder(save{Changes: l.closeDead(), Opens: &Life{Number: l.life.Number + 1, First: l.next, Since: e.of.Number}})
	}
}

// closeDead returns the ends of the dead slots. The write that stores them opens the next life too: a leader that found them ended in a
// life that goes on would assign nonces above those, and could never fill them.
func (l *life) closeDead() (ends []Change) {
	for _, s := range l.slots.inOrder() {
		c := s.asChange(false)
		ends, s.saving = append(ends, c), &c
	}
	return ends
}

// isPast reports whether the life is over, and the final chain past all that was signed in it.
func (l *life) isPast() bool {
	return l.ending.over && l.final.Hash != "" && l.final.Number >= max(l.until, l.ending.block.Number)
}

// askOpinion asks a second witness about a block, again with each final one.
func (l *life) askOpinion(about chain.Inclusion, at chain.Block, by string) {
	if e := &l.ending; at.Hash != "" && e.asked < l.finals && !l.underway.isUnderway(toConfirm) {
		e.asked = l.finals
		l.giveOrder(confirm{Claims: []claim{{Claim: chain.Claim{Inclusion: about, By: by, At: at, Still: l.still}}}})
	}
}

// takeConfirmed takes what a second witness says of a block.
func (l *life) takeConfirmed(in confirmed) {
	e := &l.ending
	for _, one := range in.Claims {
		agrees, differs := one.Said.Stand == chain.Agrees, one.Said.Stand == chain.Differs
		switch {
		case one.Index != noFinal || one.Counts:
		case one.Reaped && one.Block.Hash == e.block.Hash && !e.over:
			e.over = agrees
			l.alarmReaped(fmt.Sprintf("%s calls block %d final, in which the account has ceased to exist; %s: %s", e.firstBy, e.block.Number, one.Said.By, one.Said.Why), differs)
			if differs && e.asks { // perhaps others show other blocks
				e.askAt, e.block = e.block.Number, chain.Block{}
			}
		case !one.Reaped && one.Block.Hash == e.of.Hash && !e.sure:
			if e.sure = agrees; agrees {
				l.beginReading()
			} else if differs {
				e.of, e.denied = chain.Block{}, l.finals
			}
		}
	}
}

func (l *life) alarmReaped(why string, raised bool) {
	if raised {
		l.setAlarm(Alarm{Cause: Reaped, Whole: true, Why: why}, true)
	}
}

// beginReading forgets in which blocks the slots that have not ended are: what is read now decides.
func (l *life) beginReading() {
	lowest, none := l.ending.of.Number, true
	for _, s := range l.slots.inOrder() {
		if !s.inFinal {
			s.setPlace(nil, false)
			lowest, none = min(lowest, s.Since), false
		}
	}
	if l.ending.readAt = l.above(lowest - min(lowest, reach)); none {
		l.endReading()
	}
}

// takeElsewhere takes what another search has found, and reports whether it may be of another life.
func (l *life) takeElsewhere(in found) bool {
	for _, one := range in.Placed {
		if one.Reaped && !l.isHalted() {
			l.ending = ending{asks: true, askAt: one.Block.Number}
		}
	}
	return l.isHalted()
}

// takeFound takes what some blocks have of the account.
func (l *life) takeFound(in found) {
	e := &l.ending
	switch {
	case e.over && e.sure && !e.read && in.From == e.readAt:
		for i := range in.Placed {
			one := &in.Placed[i]
			s := l.slots.slotAt(one.Index)
			if s == nil || s.inFinal || one.Reaped {
				continue
			}
			if attempt, _ := s.findAttempt(one.Hash); attempt != nil { // another one of its nonce may be of another life
				l.placeSlot(s, one, false)
			}
		}
		if e.readAt = max(e.readAt, in.Next); e.readAt > e.of.Number {
			l.endReading()
		}
	case e.asks && !e.over && e.block.Hash == "" && in.From == e.askAt:
		if l.final.Hash == "" {
			return // it is so no longer
		}
		for _, one := range in.Placed {
			if one.Reaped && e.block.Hash == "" {
				e.block, e.first, e.firstBy = one.Block, l.final, l.finalBy
			}
		}
		e.askAt = max(e.askAt, in.Next)
		l.alarmReaped("the chain counts fewer nonces than are final, and no block that can be read says that the account has ceased to exist", e.block.Hash == "" && e.askAt > l.final.Number)
	}
}

// endReading lets go of what the final chain does not have: its time is over there, so no block will ever have it. What is stored as final
// was so by two witnesses, and this reading is one endpoint's: a person is told, and it is read again.
func (l *life) endReading() {
	l.ending.read = true
	for _, s := range l.slots.inOrder() {
		s.dead = s.in == nil && !s.Final
		l.setAlarm(Alarm{Cause: Rewound, Index: s.Index}, s.in == nil && s.Final)
	}
}

// notePad notes that the pad is final, and that no block takes any of its attempts again.
func (l *life) notePad() {
	if l.isPadding() && l.landed && len(l.slots.inOrder()) == 0 && l.final.Hash != "" && l.final.Number >= l.until {
		l.padded = true
	}
}

// whyHalted returns what waiting intents are told, the zero Hold if nothing halts them.
func (l *life) whyHalted() Hold {
	if !l.isHalted() {
		return Hold{}
	}
	return Hold{Why: "reaped: the account has ceased to exist, or the chain counts as if it had; no nonce is assigned until all that was signed before is dead"}
}
