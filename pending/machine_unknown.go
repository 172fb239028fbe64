package pending

import (
	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// unknown decides for how long no nonce is assigned because the store may not know of all transactions: after the
// database has lost rows (strange), or while the chain counts nonces as used from next on (ahead).
//
// It takes loaded, surveyed, the counts of the chain and of a pool, final blocks, and the time. It asks for survey.
type unknown struct {
	*account

	strange strange
	ahead   ahead
}

// strange is the state after the database has lost rows, perhaps: assign nothing until every nonce ever seen in the chain
// is final, by two final blocks, and some time has passed: transactions whose rows were lost may still be in a pool (W6).
type strange struct {
	on    bool
	top   uint64        // the highest next nonce that the chain or a pool ever had
	at    uint64        // the height at which top was last raised
	until fence.Instant // it does not end before this instant
	ends  int           // turns that named a final block not below at
}

// ahead is what the machine knows of nonces that the chain counts as used, from next on, of which the
// store knows nothing: rows were lost, or another holder of the key sends.
type ahead struct {
	count  uint64          // the account's next nonce at the head, as the chain says
	lowest uint64          // the lowest such count since then
	since  uint64          // the height at which the count was first above next; 0: it is not, or there is no head yet
	fresh  bool            // the account has no rows yet, so the chain's count is where it begins
	signed uint64          // the height at which the highest slot was signed; transactions without a row are not below
	of     chain.Block     // the final block as of which the nonces are read
	height uint64          // the height at which reading goes on
	proven map[uint64]bool // nonces whose transaction is final and proven, by this reading
	top    uint64          // one more than the highest nonce ever proven: a lower count is of a backend that is behind
	clash  ID              // an intent that waits and has the call of such a transaction, until a whole reading finds none
	found  ID              // such an intent that this reading has found
	begin  uint64          // the height at which the next reading may begin, since the last one has proven all; 0: it has not
	first  uint64          // the lowest block in which this reading has found a transaction without a row; 0: none yet
	asked  uint64          // the tip's finals when a reading came no further
}

// isBarring reports whether no nonce may be assigned.
func (u *unknown) isBarring() bool { return u.strange.on || u.ahead.count > u.next }

// whyBarred returns what waiting intents are told, the zero Hold if nothing bars them.
func (u *unknown) whyBarred() Hold {
	switch {
	case u.strange.on:
		return Hold{Why: "strange: the database was restored or has failed over, so rows may be lost; no nonce is assigned until all that the chain has are final"}
	case u.ahead.count > u.next:
		return Hold{Intent: u.ahead.clash, Why: "ahead: the chain counts nonces as used of which no row is known; no nonce is assigned until their transactions are read"}
	}
	return Hold{}
}

// takeLoaded starts over from the stored rows. What is strange stays so until a load says otherwise.
func (u *unknown) takeLoaded(now fence.Instant, in Snapshot) {
	u.ahead = ahead{fresh: in.Next <= in.Life.First, signed: in.Since}
	if in.Strange && !u.strange.on {
		u.strange.until = now.Add(u.set.RestoreWait)
	}
	u.strange.on = in.Strange
}

// noteHead takes the height of the first head: the count was read before it was known.
func (u *unknown) noteHead(height uint64, first bool) {
	if first {
		u.strange.at, u.strange.ends = height, 0
	}
}

// noteTop takes the next nonce of the chain or of a pool.
func (u *unknown) noteTop(count uint64) {
	if s := &u.strange; count > s.top {
		s.top, s.at, s.ends = count, u.head.Number, 0
	}
}

// checkStrange ends the strange state if a final block allows it.
func (u *unknown) checkStrange(now fence.Instant) {
	s := &u.strange
	if u.final.Number >= s.at {
		s.ends++
	}
	s.on = s.on && (s.ends < 2 || now < s.until)
	u.alarmStrange()
}

func (u *unknown) alarmStrange() { u.setAlarm(Alarm{Cause: Strange, Whole: true}, u.strange.on) }

// believedAfter is for how many blocks the chain's count has to be above next before the lowest of them is
// believed. A single count that is wrong would leave nonces unused, and all later ones would wait (W5).
const believedAfter = 2

// takeCount takes the account's next nonce at the head.
func (u *unknown) takeCount(count uint64) {
	u.ahead.count = count
	u.checkAhead()
}

// checkAhead raises next to the chain's count once that is believed and, if the account has rows, each
// transaction without a row is final and proven, and no waiting intent has its call (W6). Until then no
// nonce is assigned.
func (u *unknown) checkAhead() {
	a := &u.ahead
	if a.count = max(a.count, a.top); a.count <= u.next {
		*a = ahead{fresh: a.fresh, signed: a.signed, count: a.count}
		u.setAlarm(Alarm{Cause: Ahead, Whole: true}, false)
		u.alarmClash(ID{})
		return
	}
	if a.since == 0 {
		a.lowest = a.count
		if u.head.Number > 0 {
			a.since = u.atHeight()
		}
	}
	a.lowest = min(a.lowest, a.count)
	if a.since == 0 || u.atHeight() < a.since+believedAfter {
		return
	}
	if a.fresh || u.set.SharedKey || a.clash == (ID{}) && a.provenAll(u.next, a.lowest) {
		u.next = a.lowest
		u.best, u.bestEver, a.since = u.next, u.next, 0
		u.checkAhead()
		return
	}
	u.setAlarm(Alarm{Cause: Ahead, Whole: true}, true)
	u.alarmClash(a.clash)
}

// alarmClash raises the alarm about a waiting intent that may have been done already, if there is one, and ends that
// about any other.
func (u *unknown) alarmClash(intent ID) {
	u.endOthers(Ahead, ID{}, intent) // the zero ID is the alarm about the account
	if intent != (ID{}) {
		u.setAlarm(Alarm{Cause: Ahead, Whole: true, Intent: intent}, true)
	}
}

// forgetProofs notes that what was final is so no longer.
func (a *ahead) forgetProofs() { a.of, a.begin, a.top = chain.Block{}, 0, 0 }

func (a *ahead) provenAll(from, to uint64) bool {
	for index := from; index < to; index++ {
		if !a.proven[index] {
			return false
		}
	}
	return true
}

// askSurvey reads the transactions without a row, some blocks at a time, up to a final block.
func (u *unknown) askSurvey() {
	a := &u.ahead
	if u.underway.isUnderway(toSurvey) || a.since == 0 || a.asked == u.finals || u.atHeight() < a.since+believedAfter || a.fresh || u.set.SharedKey || u.final.Hash == "" {
		return
	}
	if a.of.Hash == "" || a.height > a.of.Number && u.final.Number > a.of.Number {
		a.of, a.height = u.final, u.above(max(a.begin, a.signed-min(a.signed, reach)))
		a.proven, a.found, a.first = nil, ID{}, 0
	}
	if a.height > a.of.Number {
		return // read to the end: the next final block may have more
	}
	u.giveOrder(survey{First: u.next, Of: a.of, By: u.finalBy, From: a.height, Still: u.still})
}

// takeSurveyed takes the transactions of some blocks.
func (u *unknown) takeSurveyed(in surveyed) {
	a := &u.ahead
	if a.of.Hash != in.Of.Hash {
		return
	}
	if a.proven == nil {
		a.proven = map[uint64]bool{}
	}
	for _, index := range in.Proven {
		a.proven[index] = true
		a.top = max(a.top, index+1)
	}
	if a.first == 0 {
		a.first = in.First
	}
	if in.Clash != (ID{}) {
		a.clash, a.found = in.Clash, in.Clash
	}
	if in.Next <= a.height {
		a.asked = u.finals // a second opinion is not to be had yet
	}
	if a.height = max(a.height, in.Next); a.height > a.of.Number {
		if a.clash, a.begin = a.found, 0; a.provenAll(u.next, a.lowest) {
			a.begin = a.first // while a person is waited for, each final block brings a new reading
		}
	}
	u.checkAhead()
}
