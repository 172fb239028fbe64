package pending

import "github.com/conchhq/conch/chain"

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
	asked  uint64          // the machine's finals when a reading came no further
}

func (a *ahead) loaded(snap Snapshot) { *a = ahead{fresh: snap.Next == 0, signed: snap.Since} }

// believedAfter is for how many blocks the chain's count has to be above next before the lowest of them is
// believed. A single count that is wrong would leave nonces unused, and all later ones would wait (W5).
const believedAfter = 2

// checkAhead raises next to the chain's count once that is believed and, if the account has rows, each
// transaction without a row is final and proven, and no waiting intent has its call (W6). Until then no
// nonce is assigned.
func (m *machine) checkAhead() {
	a := &m.ahead
	if a.count = max(a.count, a.top); a.count <= m.next {
		*a = ahead{fresh: a.fresh, signed: a.signed, count: a.count}
		m.alarm(Alarm{Cause: Ahead, Whole: true}, false)
		m.alarmClash(ID{})
		return
	}
	if a.since == 0 {
		a.lowest = a.count
		if m.head.Number > 0 {
			a.since = m.height()
		}
	}
	a.lowest = min(a.lowest, a.count)
	if a.since == 0 || m.height() < a.since+believedAfter {
		return
	}
	if a.fresh || m.set.SharedKey || a.clash == (ID{}) && a.provenAll(m.next, a.lowest) {
		m.next = a.lowest
		m.best, m.bestEver, a.since = m.next, m.next, 0
		m.checkAhead()
		return
	}
	m.alarm(Alarm{Cause: Ahead, Whole: true}, true)
	m.alarmClash(a.clash)
}

// alarmClash raises the alarm about a waiting intent that may have been done already, if there is one, and ends that
// about any other.
func (m *machine) alarmClash(intent ID) {
	for a, raised := range m.alarms { // at most one is raised, so the order of the map does not matter
		if raised && a.Cause == Ahead && a.Intent != (ID{}) && a.Intent != intent {
			m.alarm(a, false)
		}
	}
	if intent != (ID{}) {
		m.alarm(Alarm{Cause: Ahead, Whole: true, Intent: intent}, true)
	}
}

// forget notes that what was final is so no longer.
func (a *ahead) forget() { a.of, a.begin, a.top = chain.Block{}, 0, 0 }

func (a *ahead) provenAll(from, to uint64) bool {
	for index := from; index < to; index++ {
		if !a.proven[index] {
			return false
		}
	}
	return true
}

// survey reads the transactions without a row, some blocks at a time, up to a final block.
func (m *machine) survey() {
	a := &m.ahead
	if m.surveying || a.since == 0 || a.asked == m.finals || m.height() < a.since+believedAfter || a.fresh || m.set.SharedKey || m.final.Hash == "" {
		return
	}
	if a.of.Hash == "" || a.height > a.of.Number && m.final.Number > a.of.Number {
		a.of, a.height = m.final, max(a.begin, a.signed-min(a.signed, reach))
		a.proven, a.found, a.first = nil, ID{}, 0
	}
	if a.height > a.of.Number {
		return // read to the end: the next final block may have more
	}
	m.surveying = true
	m.do(survey{First: m.next, Of: a.of, By: m.finalBy, From: a.height, Still: m.still})
}

// surveyed takes the transactions of some blocks.
func (m *machine) surveyed(in surveyed) {
	m.surveying = false
	a := &m.ahead
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
		a.asked = m.finals // a second opinion is not to be had yet
	}
	if a.height = max(a.height, in.Next); a.height > a.of.Number {
		if a.clash, a.begin = a.found, 0; a.provenAll(m.next, a.lowest) {
			a.begin = a.first // while a person is waited for, each final block brings a new reading
		}
	}
	m.checkAhead()
}
