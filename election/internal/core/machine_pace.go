package core

import (
	"cmp"
	"time"

	"github.com/conchhq/conch/fence"
)

// pace decides when each seat bids next, and which bids are sent together. The machine says which
// seats may bid, and tells pace what woke them and what the mint answered. pace knows nothing else
// of a seat. It keeps these rules:
//
//   - A wake brings a bid forward. A candidate of rank n bids n rank delays after it.
//   - A scope that is free is bid for quickly. Bids that lose are repeated after 1, 2, 4, 8, 16 and
//     then 32 ms: ten times if the holder's process has ended, and seven times, from 8 ms on, if
//     the holder gave the scope up. Once a rival has won, one such bid is left.
//   - A seat that lost, and has no quick bid left, waits for the next poll, which all such seats
//     share. If there is no process whose end would wake it earlier, it waits only from BackoffMin
//     to BackoffMax.
//   - A refused seat waits for about RetryMax. A failed one waits for a back-off that doubles with
//     each failure, up to RetryMax.
//   - A failed batch is sent again in halves, since the error does not name the scope that caused it.
//   - A mint that is full gets no bid of any seat until a back-off is over.
//   - A seat that rests cannot bid. A seat that lets others go first waits for them, unless a wake
//     says that one of them has taken the scope.
//   - Seats of one batch that got the same answer share one random pause, so that they bid together.
//   - A batch begins where the last one ended, if that one was full or the mint tried only a part of
//     it. Polls come last. A seat whose fence is busy bids alone, when no other bid is due, since
//     the mint waits for the fence.
type pace struct {
	*chance
	set       *Settings     // its pauses, and Batch
	pollAt    fence.Instant // when the next poll is due
	first     int           // place of the seat that comes first in the next batch
	failures  int           // failed batches in a row
	fullUntil fence.Instant // no bid before this: the mint is full
	fulls     int           // answers in a row that said so
	draws     draws         // of the last batch
}

// turn is when one seat bids next, and why then. A term begins with a new one, which keeps the rest.
type turn struct {
	tryAt      fence.Instant // when the seat bids; never: at the next poll
	restUntil  fence.Instant // no bid before this, because of a Rest
	yieldUntil fence.Instant // others go first until then; 0 once one has led
	failures   int           // failed bids in a row that were not split
	room       int           // most bids in a batch with this one, after a failure; 0: no limit
	found
}

// found is what wakes and bids have shown. It is replaced whole when it may have become untrue.
type found struct {
	process   int64         // the holder's process key, while it may be alive; 0: there is none to wait for
	quickLeft int           // quick bids left after a wake
	wokenFrom int64         // process at that wake
	busySince fence.Instant // when the fence was first found busy; 0: it is not
}

const (
	// endTries are the quick bids after the end of a process. A rival's bid holds a lock for a
	// moment, and on a busy machine a killed process frees its locks some time apart.
	endTries = 10
	// givenUpTries are the quick bids for a scope that was given up, which frees all locks at once.
	// So only the bid of a rival can be in the way.
	givenUpTries = 7
	// lookupDelay is the pause after a wake before a bid for a scope that was just taken, so that
	// it does not slow the first act of the new leader. The bid only finds the holder's process.
	lookupDelay = 50 * time.Millisecond
)

// turnDue returns when a seat bids, if it may.
func (p *pace) turnDue(t *turn) fence.Instant {
	at := t.tryAt
	if at == never {
		at = p.pollAt
	}
	return max(at, t.restUntil, p.fullUntil)
}

// nextBatch returns the places of the seats that bid now. round has the turns of all seats, with nil
// for those that may not bid.
func (p *pace) nextBatch(now fence.Instant, round []*turn) (places []int) {
	p.draws = draws{}
	room := p.set.Batch
	for _, polls := range []bool{false, true} {
		for i := range round {
			place := (p.first + i) % len(round)
			t := round[place]
			if t == nil || t.busySince != 0 || (t.tryAt == never) != polls || now < p.turnDue(t) {
				continue
			}
			if most := min(room, cmp.Or(t.room, room)); len(places) < most {
				places, room = append(places, place), most
			}
		}
	}
	if len(places) == p.set.Batch {
		p.first = (places[len(places)-1] + 1) % len(round)
	}
	if places != nil {
		return places
	}
	for place, t := range round { // busy fences: the one that has waited longest
		if t != nil && t.busySince != 0 && now >= p.turnDue(t) && (places == nil || t.tryAt < round[places[0]].tryAt) {
			places = []int{place}
		}
	}
	return places
}

// rankedTurn returns when a candidate of this rank bids for a scope that anyone may take from now on.
func (p *pace) rankedTurn(now fence.Instant, rank int) fence.Instant {
	return now.Add(time.Duration(rank) * p.set.RankDelay)
}

// wakeTurn takes a hint about a seat. A bid for a busy fence waits in the mint, and no hint helps it.
func (p *pace) wakeTurn(t *turn, now fence.Instant, rank int, hint Woken) {
	at := p.rankedTurn(now, rank)
	switch {
	case t.busySince != 0:
		return
	case hint.Holder != "":
		t.tryAt = min(t.tryAt, at.Add(lookupDelay))
		return
	case hint.Process != 0:
		t.quickLeft, t.wokenFrom, t.process = endTries, t.process, 0
	case hint.Scope != "":
		t.quickLeft, t.wokenFrom = givenUpTries, t.process
	}
	t.tryAt = min(t.tryAt, max(at, t.yieldUntil)) // this process may have given the scope up itself
}

// yieldTurn lets others go first for a scope that this process gave up.
func (p *pace) yieldTurn(t *turn, now fence.Instant) {
	t.tryAt = now.Add(p.jitter(p.set.YieldAfterStep))
	t.yieldUntil = t.tryAt
}
