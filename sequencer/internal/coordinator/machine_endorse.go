package coordinator

import (
	"cmp"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// member is a member as an endorser.
type member struct {
	account ledger.Account
	place   int
	owed    []owing // that it has to be asked about
	asking  int     // requests that it has not answered
	whole   bool    // with what they are built on: it has lacked that
	strikes int
	after   time.Duration // until then it is not asked
	forges  bool          // its last signature was wrong: whatever else it says, it is not asked before
	heardAt time.Duration
}

// owing is an attempt about which a member has to be asked. When its work has another one, it is nothing: a member has one
// word on each.
type owing struct {
	*work
	seat uint64
}

func (o owing) waits() bool { return o.state == endorsing && o.work.seat == o.seat }

func (one *member) owes(w *work) { one.owed = append(one.owed, owing{w, w.seat}) }

func (m *Machine) memberOf(a ledger.Account) *member {
	for _, one := range m.members {
		if one.account == a {
			return one
		}
	}
	return nil
}

// A member has a few requests at a time, each with all that has come up meanwhile: more would only wait there. An endorser
// refuses one of more than 256 attempts.
const (
	mostAsked    = 4
	mostAttempt  = 128
	mostUpstream = 128
)

// endorse has all members asked for their endorsements (P25). The first that suffice are taken.
func (m *Machine) endorse(works []*work) {
	for _, one := range m.members {
		for _, w := range works {
			one.owes(w)
		}
	}
}

func (m *Machine) askEndorsements(one *member, works []*work, upstream bool) {
	body := wire.Endorse{Range: m.tenure.rng}
	for _, w := range works {
		body.Attempts = append(body.Attempts, w.whole)
	}
	if upstream {
		body.Upstream = m.upstream(works, m.room(body))
	}
	one.asking++
	m.ask(one.account, body, works).upstream = upstream
}

// upstream returns the attempts in flight on which others are built, in the order in which they came on board. Those on
// which they are built directly come first, if there is no room for all.
func (m *Machine) upstream(of []*work, room int) (wholes []wire.Whole) {
	seen := map[*work]bool{}
	for _, w := range of {
		seen[w] = true
	}
	var found []*work
	for next := slices.Clone(of); len(next) > 0 && len(found) < mostUpstream; next = next[1:] {
		a := next[0].whole.Attempt
		for _, list := range [][]ledger.StateID{a.Inputs, a.Reads} {
			for _, id := range list {
				if o, is := m.flight.creates[id]; is && !seen[o.by] && len(found) < mostUpstream {
					seen[o.by] = true
					found, next = append(found, o.by), append(next, o.by)
				}
			}
		}
	}
	found = slices.DeleteFunc(found, func(w *work) bool {
		size := w.whole.Size()
		if size > room {
			return true
		}
		room -= size
		return false
	})
	slices.SortFunc(found, func(a, b *work) int { return cmp.Compare(a.seat, b.seat) })
	for _, w := range found {
		wholes = append(wholes, w.whole)
	}
	return wholes
}

// Needs reports whether a verdict or a grant in the answer to a request can still count: whether its attempt lacks that. One
// that cannot is not looked at, now or later, so nobody has to verify it. Of a member that has signed wrongly all is looked at,
// since that ends with its first right signature.
func (m *Machine) Needs(answer wire.RequestID, at int) bool {
	a := m.asks[answer.Number]
	return a != nil && answer.Incarnation == m.set.Incarnation && at < len(a.works) &&
		(a.lacksEndorsements(at) || a.lacksGrant(at) || m.memberOf(a.to).forges)
}

// lacksGrant reports whether a work still waits for the grant that the request asks for.
func (a *ask) lacksGrant(i int) bool { return a.works[i].state == granting && a.works[i].request == a }

// lacksEndorsements reports whether a work is still at the attempt that the request was about, without enough endorsements.
func (a *ask) lacksEndorsements(i int) bool { return a.works[i].state == endorsing && a.same(i) }

// endorsed takes a member's verdicts. A late one on an attempt that was given up is nothing.
func (m *Machine) endorsed(a *ask, body wire.Endorsed) {
	one := m.memberOf(a.to)
	if len(body.Verdicts) != len(a.works) {
		m.unendorsed(a)
		return
	}
	for i, v := range body.Verdicts {
		if v.Why == wire.Done && a.same(i) && v.Assembled != a.works[i].assembled {
			m.forged(a)
			return
		}
	}
	one.asking--
	var refusedOnes []*work
	for i, v := range body.Verdicts {
		w := a.works[i]
		one.forges = one.forges && v.Why != wire.Done // what is not verified is no signature
		if !a.lacksEndorsements(i) {
			continue
		}
		switch {
		case v.Why == wire.Done && v.Assembled == w.assembled:
			if m.sign(w, one.place, v.Signature) {
				m.tell(w, complete)
			}
		case v.Why == wire.Conflict && !m.sound(w):
			m.tell(w, overtaken)
		case v.Why == wire.Conflict:
			one.owes(w)
			one.whole = true
			if a.upstream { // it has had all that is in flight: what it lacks comes from the ledger
				one.after = max(one.after, m.now+rest)
			}
		case v.Why == wire.Failed && !w.fails(one.place):
			one.owes(w)
			one.after = max(one.after, m.now+rest)
		default:
			if w.against++; len(m.members)-w.against < m.set.Contract.Needed {
				refusedOnes = append(refusedOnes, w)
			}
		}
	}
	m.refuse(refusedOnes)
}

// fails counts that a member's rules have failed on an attempt, and reports whether that is a refusal by now: what is built
// on it would else wait for as long as they fail (Q13).
func (w *work) fails(place int) bool {
	if w.failed == nil {
		w.failed = map[int]int{}
	}
	w.failed[place]++
	return w.failed[place] >= mostFailures
}

// mostFailures is how often a member is asked on whose rules an attempt fails.
const mostFailures = 3

// refuse gives back what too many members will not endorse. Its sender counts that.
func (m *Machine) refuse(works []*work) {
	items := map[*client][]wire.Step{}
	for _, w := range works {
		if w.state == endorsing {
			items[w.owner] = append(items[w.owner], wire.Step{Sequence: w.Sequence, Delegation: w.delegation.id})
			m.tell(w, refused)
		}
	}
	for _, c := range m.order {
		if len(items[c]) > 0 {
			m.notice(c.account, wire.Returned{Items: items[c], Why: wire.Refused})
		}
	}
}

// sign adds an endorsement, in the order of the members, and reports whether there are enough now.
func (m *Machine) sign(w *work, place int, signature []byte) bool {
	at, is := slices.BinarySearchFunc(w.signed, place, func(e ledger.Endorsement, p int) int { return cmp.Compare(e.Member, p) })
	if !is {
		w.signed = slices.Insert(w.signed, at, ledger.Endorsement{Member: place, Signature: signature})
	}
	return len(w.signed) >= m.set.Contract.Needed
}

// unendorsed has a member asked again later that has not answered.
func (m *Machine) unendorsed(a *ask) {
	one := m.memberOf(a.to)
	one.asking--
	one.after = m.now + min(m.set.Silence<<min(one.strikes, 16), m.set.LongestAside)
	one.strikes++
	for i, w := range a.works {
		if a.lacksEndorsements(i) {
			one.owes(w)
		}
	}
}

// forged takes an answer for none in which a signature is wrong, or is of something else than what was asked about. That is at
// the door of the member, and of no attempt: it is set aside like one that is silent, for the longest time, until it signs rightly.
func (m *Machine) forged(a *ask) {
	one := m.memberOf(a.to)
	if !one.forges {
		one.forges = true
		m.do(Blame{Member: one.account})
	}
	switch until := m.now + m.set.LongestAside; a.kind { //nolint:exhaustive // nothing else is signed
	case wire.KindEndorse:
		m.unendorsed(a)
		one.after = until
	case wire.KindAskGrant:
		m.ungranted(a)
		m.client(a.to).aside = until
	}
}

// askMembers asks members about what they owe.
func (m *Machine) askMembers() {
	for _, one := range m.members {
		for len(one.owed) > 0 && one.asking < mostAsked && m.now >= one.after {
			n, room := 0, m.room(wire.Endorse{})
			if one.whole { // for what they are built on
				room /= 2
			}
			var works []*work
			for ; n < len(one.owed) && len(works) < mostAttempt; n++ {
				if o := one.owed[n]; o.waits() {
					if room -= o.whole.Size(); room < 0 && len(works) > 0 {
						break
					}
					works = append(works, o.work)
				}
			}
			if one.owed = one.owed[n:]; len(one.owed) == 0 {
				one.owed = nil
			}
			if len(works) > 0 {
				m.askEndorsements(one, works, one.whole)
				one.whole = one.whole && len(one.owed) > 0
			}
		}
	}
}
