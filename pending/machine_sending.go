package pending

import (
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// sending decides which stored attempts are sent, and what a node's answer to each of them means. No answer is a
// failure of the intent.
//
// It takes sent. It asks for submit.
type sending struct {
	*account

	window window // how many nonces from best on may be signed and sent
	from   uint64 // best when the submit under way began
}

// askSubmit sends stored attempts that no node has, lowest nonce first, as far as the window goes. After a rewind, or by
// an earlier term, more may be stored, and a pool full of them would refuse the one that they wait for.
func (d *sending) askSubmit(now fence.Instant) {
	if d.underway.isUnderway(toSend) || !d.census.unsent || d.isPaused(now) {
		return
	}
	var batch []chain.Signed
	for _, s := range d.slots.slotsFrom(d.best) { // lower nonces are in a block
		if len(batch) == d.set.MaxBatch {
			break
		}
		if s.Index-d.best >= uint64(d.window.size) {
			d.window.pressed = true
			break
		}
		if !s.isUnsent() {
			continue
		}
		attempt, delivery := s.lastAttempt()
		if now < delivery.after {
			d.pace.remindAt(delivery.after)
			if s.isTaken() {
				continue
			}
			break // what is above it would be above a gap
		}
		batch = append(batch, *attempt)
	}
	if len(batch) > 0 {
		d.from = d.best
		d.giveOrder(submit{Attempts: batch, Front: d.isFront(batch[0].Index)})
	}
}

// isFront reports whether a slot is among the first ones, and its attempt is not the first that is sent for it.
func (d *sending) isFront(index uint64) bool {
	s := d.slots.slotAt(index)
	_, delivery := s.lastAttempt()
	return index < d.best+offered && (len(s.Attempts) > 1 || delivery.reached != kept || s.Intent == nil)
}

// takeSent takes the node's answers to attempts. Each decides what to do next.
func (d *sending) takeSent(now fence.Instant, in sent) {
	d.learnRoom(in)
	lacks, words := false, "" // the node's about the funds
	for i, got := range in.Outcomes {
		s := d.slots.slotAt(in.Attempts[i].Index)
		if s == nil {
			continue
		}
		attempt, delivery := s.findAttempt(in.Attempts[i].Hash)
		if attempt == nil {
			continue
		}
		delivery.after, s.again = now.Add(d.set.Retry), false
		switch got.Verdict {
		case chain.Accepted, chain.Known:
			s.noteAccepted(delivery)
			if attempt.Filler {
				d.setAlarm(Alarm{Cause: Unfilled, Index: s.Index}, false)
			}
		case chain.Unknown:
			s.noteMaybe(delivery)
			d.pace.retry = now.Add(d.set.Retry)
			s.notTaken(got)
		case chain.IndexTooLow:
			delivery.reached, s.doubt = maybe, true
		case chain.Underpriced:
			delivery.reached, s.doubt, s.outbid = maybe, true, true
		case chain.FeeTooLow:
			s.payMore, s.stuck = true, false
		case chain.NoFunds:
			lacks, words = true, got.Said()
			d.pauseSends(now)
		case chain.Outworn:
			d.takeOutworn(s, delivery, got)
		case chain.Unfit, chain.Invalid:
			if d.isOutworn(s, attempt) { // of such bytes nothing that is said is about the call
				d.takeOutworn(s, delivery, got)
				continue
			}
			d.takeWorthless(now, s, attempt, delivery, got)
		case chain.Full, chain.Refused:
			// What is above the first has its turn when the window allows it, but for one that replaces another there.
			if got.Verdict == chain.Refused || s.Index == d.from || s.isTaken() {
				d.pauseSends(now)
			}
			delivery.notTaken()
			s.notTaken(got)
		}
	}
	d.noteShortage(&d.funds.sending, lacks, now)
	d.alarmFunds(words)
}

// takeWorthless takes the answer that a node, or the chain, does not take such an attempt. A node's limits or prices may
// change, or another node take it.
func (d *sending) takeWorthless(now fence.Instant, s *slot, attempt *chain.Signed, at *delivery, said chain.Outcome) {
	if said.Verdict == chain.Invalid {
		d.takeInvalid(now, s, attempt, at, said.Said(), 0)
		return
	}
	d.takeInvalid(now, s, attempt, at, "unfit: "+said.Said(), d.set.RejectAfter)
	if at.reached == gone && !s.refit { // its gas was estimated when the chain asked for less
		s.refit, s.payMore, s.stuck = true, true, false
	}
}

// takeInvalid takes the answer that the chain never takes the bytes of an attempt. One answer ends nothing: the
// same has to come again some blocks and some time later, and no attempt of the slot may be in a pool (W7).
func (d *sending) takeInvalid(now fence.Instant, s *slot, attempt *chain.Signed, at *delivery, why string, wait time.Duration) {
	if !attempt.Filler {
		if slices.ContainsFunc(s.deliveries, func(d delivery) bool { return d.reached == left || d.reached == taken || d.reached == pooled }) {
			at.reached, s.doubt = maybe, true
			return
		}
		if s.invalidAt == 0 {
			s.invalidAt, s.invalidFrom = max(d.atHeight(), 1), now
		}
		if d.atHeight() < s.invalidAt+believedAfter || now < s.invalidFrom.Add(wait) {
			s.waits = "invalid: " + why
			at.reached = gone // to be sent again
			d.pauseSends(now)
			return
		}
	}
	at.reached, s.payMore, s.stuck = refused, true, false
	d.takeRefused(now, s, attempt, why)
}

// takeRefused takes the answer that the chain will never include an attempt. A call is replaced by a
// filler, and its intent is rejected in the end. A refused filler says nothing about the intent: it is signed
// anew with the next block, because all later nonces wait for it.
func (d *sending) takeRefused(now fence.Instant, s *slot, attempt *chain.Signed, why string) {
	if !attempt.Filler {
		s.void, s.why = true, why
		d.setAlarm(Alarm{Cause: Refused, Index: s.Index, Why: why}, true)
		return
	}
	d.setAlarm(Alarm{Cause: Unfilled, Index: s.Index, Why: why}, true)
	d.pauseSends(now)
}

// learnRoom learns from the answers to a submit, whose nonces rise.
func (d *sending) learnRoom(in sent) {
	took := len(in.Attempts) > 0
	for i, got := range in.Outcomes {
		switch index := in.Attempts[i].Index; got.Verdict {
		case chain.Accepted, chain.Known, chain.IndexTooLow:
			continue
		case chain.Full:
			if s := d.slots.slotAt(index); s == nil || !s.isTaken() {
				d.window.noteRefused(int(index-min(d.from, index)), d.head.Number)
				return
			}
		default:
		}
		took = false
	}
	if took {
		d.window.noteTaken(int(in.Attempts[len(in.Attempts)-1].Index-d.from)+1, d.head.Number)
	}
}

// window is how many nonces from the chain's count on may be signed and sent. A pool keeps so many transactions of an
// account: some take thousands, others 16 or one, and a sequencer without a pool takes only the next nonce. No node
// says how many, so it is learned from what the node takes.
type window struct {
	size    int    // at least 1
	most    int    // it never grows above
	ends    bool   // a node has refused one for want of room: the window doubles no longer
	step    int    // by how many it grows next, once ends
	wait    uint64 // for how many blocks it does not grow after the next refusal
	growAt  uint64 // it does not grow below this height, once ends
	pressed bool   // more was to be signed or sent than it allowed, since it last changed
}

const (
	firstWindow = 16 // each pool of go-ethereum's kind takes so many of an account
	firstWait   = 4
	mostWait    = 64
)

func newWindow(most int) window {
	return window{size: max(1, min(firstWindow, most)), most: max(1, most), step: 1, wait: firstWait}
}

// noteTaken notes that a node has all of a submit, and with it so many in a row. If the window was what limited it, it
// doubles. Once it is known where the pool ends it grows seldom and by one, since each that does not fit is refused;
// as long as they fit, it grows with each block and by twice as many.
func (w *window) noteTaken(inRow int, height uint64) {
	if !w.pressed || 2*inRow < w.size || w.ends && height < w.growAt {
		return
	}
	grown := 2 * w.size
	if w.ends {
		if grown = w.size + w.step; w.step > 1 {
			w.wait = firstWait // the last step did fit
		}
		w.step, w.growAt = min(2*w.step, w.most), height+1
	}
	w.size, w.pressed = min(grown, w.most), false
}

// noteRefused notes that a node has taken so many in a row, and has no room for the one after. If it takes none at all that
// says nothing about how many it takes of one account.
func (w *window) noteRefused(inRow int, height uint64) {
	w.size, w.ends, w.step, w.pressed = max(1, min(inRow, w.size)), true, 1, false
	w.growAt = height + w.wait
	if w.wait = min(2*w.wait, mostWait); inRow == 0 {
		w.wait = firstWait
	}
}

// allowsMore returns how many nonces from next on may be signed.
func (w *window) allowsMore(best, next uint64) int {
	if used := next - min(best, next); used < uint64(w.size) {
		return w.size - int(used)
	}
	return 0
}

// noteHead takes the height of a new head. What it has learned before the first one counts from there. After a rewind a
// noted height may lie above the head.
func (w *window) noteHead(height uint64, first bool) {
	if first {
		w.growAt += height
	}
	w.growAt = min(w.growAt, height+mostWait)
}

// beginRest takes that no head is followed any more; the last one had a height.
func (w *window) beginRest(height uint64) { w.growAt -= min(w.growAt, height) }
