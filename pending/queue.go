package pending

import (
	"errors"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/pending/internal/rules"
)

// Refusal says why an intent got no slot when it was tried. It is about the intent alone: if the whole account
// cannot sign, no intent is refused. It is stored beside the intent, so that a new leader goes on with it.
type Refusal struct {
	Cause  Cause         // Funds, Fees (above its own MaxFee), Refused or Unclear
	Why    string        // the words of the chain
	Times  int           // how often in a row for this cause; 0: it was not refused
	Height uint64        // the chain's at the first time
	Next   uint64        // the nonce that the intent would have got then
	Since  time.Time     // of the first time, by the store's clock, which sets it
	Until  time.Time     // the intent is not tried before, by the store's clock; zero: it is
	Age    time.Duration // from Queue: how long ago Since was, by the store's clock
}

// Held asks a store to keep a refusal beside its intent. The store sets Since if it is the first one or if
// that is yet to come, and Until if Pause is not 0.
type Held struct {
	Intent  ID
	Refusal Refusal
	Pause   time.Duration // for how long others pass it, at most a minute; only in relaxed order
}

// Queue is the beginning of an account's queue. Of a Record it has the Intent, also with its Space, the Refusal, Late and Left.
type Queue struct {
	// Oldest are in the order of acceptance. If there are more, those that could be tried for longest, in relaxed
	// order: however many are put off and due again and again, each has its turn.
	Oldest []Record
	Left   int // how many more wait, where 1 may stand for any number
	// Saving is the oldest intent that has waited for money for ten minutes, put off or not; only in relaxed order.
	Saving *Record
}

const (
	savesEvery = 6 // times rules.SavesAfter
	firstPause = time.Second
)

// hasTurn reports whether the account's money is now that of the intent that was refused so.
func (r Refusal) hasTurn() bool { return int(r.Age/rules.SavesAfter)%savesEvery == 1 }

// isSaving reports whether the account's money is one intent's now.
func (q Queue) isSaving() bool { return q.Saving != nil && q.Saving.Refusal.hasTurn() }

// nextTries returns the intents to be tried now.
func (q Queue) nextTries() []Record {
	if q.isSaving() {
		return []Record{*q.Saving}
	}
	return q.Oldest
}

// leftOver returns how many intents wait that are not tried now.
func (q Queue) leftOver() int {
	if q.isSaving() {
		return 1
	}
	return q.Left
}

// blamed returns whether an error of signing is about the intent, and the cause. An account whose money is in
// transactions that are in no block yet waits for those: others could not be included before them either.
func blamed(why error) (cause Cause, is bool) {
	switch {
	case errors.Is(why, errOwnFee):
		return Fees, true
	case errors.Is(why, chain.ErrCall):
		return Refused, true
	case errors.Is(why, chain.ErrUnclear):
		return Unclear, true
	case errors.Is(why, chain.ErrFunds) && !errors.Is(why, chain.ErrOwed):
		return Funds, true
	}
	return 0, false
}

// oneMore returns the refusal after one more.
func (r Refusal) oneMore(cause Cause, why string, height, next uint64) Refusal {
	if r.Times == 0 || r.Cause != cause {
		r = Refusal{Cause: cause, Next: next}
	}
	if r.Times == 0 || height < r.Height { // after a rewind the height may be above the head
		r.Height = height
	}
	r.Why, r.Times = why, r.Times+1
	return r
}

// isNews reports whether a further refusal in strict order is to be stored. If the clock was ahead at the first one, the
// store sets that right with the next.
func (r Refusal) isNews(last Refusal) bool {
	if r.Cause.isMoney() {
		return r.Times == 1
	}
	last.Times = r.Times
	return r.Cause == Unclear || r != last || last.Age < 0
}

// nextPause returns for how long others pass the intent: ever longer.
func (r Refusal) nextPause() time.Duration {
	return pause.Doubled(firstPause, r.Times-1, rules.LongestPause)
}

// An intent that is refused with an error that nobody knows, while the node accepts another call, is rejected after
// 20 tries over at least two minutes. Without the minutes, fast blocks would use up the tries in a moment, and a
// node can be in trouble for longer (W15).
const (
	maxUnclearTries = 20
	minUnclearTime  = 2 * time.Minute
)

// givesUp reports whether the intent is to be rejected. One answer is not enough: an estimate of an endpoint that is
// behind, or one before the account's earlier calls are in blocks, fails for a call that would succeed (W12). Those
// are the ones below the nonce that it would have got at first, or would get now: calls that were before it may have
// been cancelled, and their nonces are never used.
func (a assign) givesUp(r Refusal, age time.Duration, height, next uint64) bool {
	switch r.Cause {
	case Refused:
		return height >= r.Height+believedAfter && age >= a.RejectAfter && a.Best >= min(r.Next, next)
	case Unclear:
		return r.Times >= maxUnclearTries && age >= minUnclearTime
	default:
		return false
	}
}

// judgeTried decides what becomes of the intents that were tried. What was signed behind one that gets no slot has a nonce
// that leaves a gap: it is signed anew, at once if nothing before it has to wait. In strict order nothing gets a slot
// before all that were accepted earlier, since it may depend on them, and nothing is rejected before them. But all are
// judged side by side: the time of each begins when it was first refused. It begins anew once one has got a slot that
// was not to have one then. The height is that of the chain before they were signed.
func (a assign) judgeTried(q Queue, prepared []chain.Prepared, height uint64) (b Batch, out stored) {
	tried, next := q.nextTries(), a.First // next is the nonce that the intent would have got
	stops := !a.Relaxed || q.isSaving()
	gap, anew := false, false // an intent got no slot; one behind it is signed anew at once
	turned := false           // one whose call had been refused got a slot
	stay := func(w Record, why error) {
		gap = true
		if out.Left++; out.Hold == nil && !anew {
			out.Hold = &heldError{w.ID, why}
		}
	}
	for i, p := range prepared {
		w := tried[i]
		cause, is := blamed(p.Err)
		switch {
		case p.Err == nil && !gap:
			id := w.ID // a copy: a pointer into the queue would keep all calls that were read with it, as long as the slot
			b.New = append(b.New, Slot{
				Index: p.Index, Intent: &id, Attempts: []chain.Signed{p.Signed}, Since: height, Value: w.Call.Value, Terms: w.Terms, Deadline: w.deadline(),
			})
			next, turned = next+1, turned || w.Refusal.Times > 0 && !w.Refusal.Cause.isMoney()
			continue
		case p.Err == nil:
			if anew = anew || out.Hold == nil; w.Refusal.Times > 0 {
				b.Held = append(b.Held, Held{Intent: w.ID}) // it is refused no longer
			}
			out.Left++
			next++
			continue
		case !is:
			stay(w, p.Err)
			next++
			continue
		}
		last, waits := w.Refusal, out.Hold != nil || anew
		if !last.Cause.isMoney() && (turned || !a.Relaxed && next > last.Next) {
			last = Refusal{}
		}
		one := Held{Intent: w.ID, Refusal: last.oneMore(cause, p.Err.Error(), height+a.Stood, next)}
		switch gap = true; {
		case (!stops || !waits) && a.givesUp(one.Refusal, w.Refusal.Age, height+a.Stood, next):
			b.Rejects = append(b.Rejects, Hold{Intent: w.ID, Why: p.Err.Error()})
		case stops:
			if stay(w, p.Err); one.Refusal.isNews(w.Refusal) {
				b.Held = append(b.Held, one)
			}
		default:
			one.Pause = one.Refusal.nextPause()
			b.Held = append(b.Held, one)
		}
	}
	return b, out
}
