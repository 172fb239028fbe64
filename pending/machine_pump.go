package pending

import (
	"math/big"

	"github.com/conchhq/conch/fence"
)

// pump starts every action that is possible now, one of each kind at a time, so that attempts are
// sent in the order of their nonces.
func (m *machine) pump(now fence.Instant) {
	if m.retry != 0 && now < m.retry {
		return
	}
	m.retry = 0
	if m.phase == blank && !m.loads && !m.signing && !m.saving {
		m.loads, m.phase = true, loading
		m.do(load{Final: m.readFrom})
	}
	if m.phase != working {
		return
	}
	m.later = 0
	if now >= m.resume {
		m.paused = 0 // else Next would return the past instant again and again
	}
	if now >= m.signBy {
		m.signAt = 0
	}
	m.stand(now)
	m.beginRecall()
	m.takeCensus(now)
	m.leave(now)
	m.markStuck(now)
	m.save(now)
	m.read(now)
	m.sign(now)
	m.submit(now)
}

// read starts the actions that only read.
func (m *machine) read(now fence.Instant) {
	if now < m.reread {
		return
	}
	m.reread = 0
	m.page(now)
	m.look(now)
	m.link()
	m.confirm()
	m.search()
	m.survey()
}

// census is what one pass over all slots has found.
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

// takeCensus counts, and notes at which height the front has changed.
func (m *machine) takeCensus(now fence.Instant) {
	m.census = census{}
	c := &m.census
	for _, s := range m.slots.all() {
		if s.in == nil {
			if s.Index >= m.best { // below, a block has its nonce
				c.inFlight++
				if s.capped && c.capped == nil {
					c.capped = s
				}
			}
			c.unsent = c.unsent || s.unsent()
			c.outdated = c.outdated || s.payMore || s.needsFiller()
		} else if s.contradicted {
			c.unsent = c.unsent || s.unsent()
		}
		if s.in != nil && s.inSince == 0 {
			s.inSince = now
		}
		if s.guest && (s.in != nil || s.Index < m.best) {
			c.guests++
		}
		c.doubts = c.doubts || s.doubt
		c.spent = c.spent || s.spent
		c.unlinked = c.unlinked || s.contradicted || s.toLink(m.final)
		c.unconfirmed = c.unconfirmed || m.wantsOpinion(s) || m.wantsCount(s)
	}
	c.inFlight += m.deep.inFlight(m.best)
	if m.best != m.front || c.inFlight == 0 { // an idle account has waited for nothing
		m.front, m.frontSince, m.frontFrom = m.best, m.head.Number, now
	}
}

// submit sends stored attempts that no node has, lowest nonce first, as far as the window goes. After a rewind, or by
// an earlier term, more may be stored, and a pool full of them would refuse the one that they wait for.
func (m *machine) submit(now fence.Instant) {
	if m.sending || !m.census.unsent || m.pausing(now) {
		return
	}
	var batch []Attempt
	for _, s := range m.slots.from(m.best) { // lower nonces are in a block
		if len(batch) == m.set.MaxBatch {
			break
		}
		if s.Index-m.best >= uint64(m.window.size) {
			m.window.pressed = true
			break
		}
		if !s.unsent() {
			continue
		}
		attempt, delivery := s.last()
		if now < delivery.after {
			m.later = sooner(m.later, delivery.after)
			if s.taken() {
				continue
			}
			break // what is above it would be above a gap
		}
		batch = append(batch, *attempt)
	}
	if len(batch) > 0 {
		m.sending, m.sentFrom = true, m.best
		m.do(submit{Attempts: batch, Front: m.isFront(batch[0].Index)})
	}
}

// isFront reports whether a slot is among the first ones, and its attempt is not the first that is sent for it.
func (m *machine) isFront(index uint64) bool {
	s := m.slots.get(index)
	_, delivery := s.last()
	return index < m.best+offered && (len(s.Attempts) > 1 || delivery.reached != kept || s.Intent == nil)
}

// sign asks for replacements before new slots: all slots above a stuck one are stuck too.
func (m *machine) sign(now fence.Instant) {
	if m.signing || m.pausing(now) || m.holding(now) {
		return
	}
	if wanted := m.replacements(now); len(wanted) > 0 {
		m.signing, m.replacing = true, wanted
		m.do(replace{Replacements: wanted})
		return
	}
	if m.strange || m.ahead.count > m.next || m.queued == 0 {
		return
	}
	room := min(m.most, m.roomBehindCap())
	if room <= 0 {
		return
	}
	allowed := m.window.allows(m.best, m.next)
	if allowed < min(room, m.queued) {
		m.window.pressed = true
	}
	if room = min(room, allowed); room == 0 { // also if fewer seem to wait: a store may stop counting
		return
	}
	m.signing, m.replacing, m.heard = true, nil, 0
	m.do(assign{
		First: m.next, Most: room, Best: m.best, Owed: m.owed(), Relaxed: m.set.Relaxed, RejectAfter: m.set.RejectAfter, Stood: m.stood,
	})
}

// owed returns the most that the account's transactions that are in no block may still take from its balance.
func (m *machine) owed() *big.Int {
	sum := new(big.Int)
	for _, s := range m.slots.from(m.best) {
		if s.in == nil {
			sum.Add(sum, s.cost())
		}
	}
	return sum
}

// look looks up the slots in doubt and, every ResendAfter blocks, some of those that a node has
// accepted, since a pool drops transactions without notice.
func (m *machine) look(now fence.Instant) {
	if m.looking {
		return
	}
	var hashes []lookup
	add := func(s *slot) {
		for _, a := range s.Attempts {
			hashes = append(hashes, lookup{Index: s.Index, Hash: a.Hash})
		}
	}
	for _, s := range m.slots.all() {
		if !m.census.doubts || len(hashes) >= m.mostRead {
			break
		}
		if s.doubt && !m.recalls(s) {
			add(s)
		}
	}
	if m.head.Number >= m.lookedAt+m.set.ResendAfter || now >= m.lookBy {
		m.lookedAt, m.lookBy = m.head.Number, now.Add(m.set.Patience)
		m.offerAgain()
		m.rounds(func(s *slot) bool {
			if s.withNode() {
				add(s)
			}
			return len(hashes) < m.mostRead
		})
	}
	if len(hashes) > 0 {
		m.looking = true
		m.do(probe{Hashes: hashes})
	}
}

// rounds visits the slots from the cursor on, round robin, until visit returns false.
func (m *machine) rounds(visit func(*slot) bool) {
	order := m.slots.all()
	start := len(order) - len(m.slots.from(m.cursor))
	for i := range order {
		s := order[(start+i)%len(order)]
		m.cursor = s.Index + 1
		if !visit(s) {
			return
		}
	}
}

// save stores changed states: at once, or, while busy, at most once a block and once every Pace,
// since many slots are final a few blocks later. While busy it also leaves out attempts that were
// sent a moment ago, since the next block changes them.
func (m *machine) save(now fence.Instant) {
	if m.saving {
		return
	}
	busy := m.sending || m.signing || m.queued > 0 && !m.strange || m.census.inFlight > m.set.MaxBatch
	if busy && now < m.saveFrom {
		m.later = sooner(m.later, m.saveFrom)
		return
	}
	if busy && m.savedAt == m.head.Number && now < m.saveBy {
		m.later = sooner(m.later, m.saveBy)
		return
	}
	var changes []Change
	var changed []*slot
	for _, s := range m.slots.all() {
		c := s.change(m.timedOut(s, now))
		if c == s.saved || s.unheard() || s.endStands() {
			continue
		}
		if _, delivery := s.last(); busy && s.in == nil && !s.retracted && now < delivery.after.Add(m.set.Patience) {
			m.later = sooner(m.later, delivery.after.Add(m.set.Patience))
			continue
		}
		changes, changed = append(changes, c), append(changed, s)
	}
	for i, s := range changed { // only now, since they have moved while their number grew
		s.saving = &changes[i]
	}
	do := save{Changes: changes}
	if hold := m.hold(); hold != m.savedHold {
		m.savedHold, do.Hold = hold, &hold
	}
	if len(changes) > 0 || do.Hold != nil {
		m.saving = true
		m.savedAt, m.saveBy, m.saveFrom = m.head.Number, now.Add(m.set.Patience), now.Add(m.set.Pace)
		m.do(do)
	}
}

// saved notes what was stored, and drops the slots that are stored as final.
func (m *machine) saved() {
	m.saving = false
	m.slots.sweep(func(s *slot) bool { // in order, since alarms may end
		if s.saving != nil {
			s.saved, s.saving = *s.saving, nil
			if s.saved.Intent == Again { // even if the chain has taken it back meanwhile
				s.Intent = nil
				m.queued++
			}
		}
		over := s.inFinal && s.saved.Status.closes() && s.saved.Block.Hash == s.in.Block.Hash
		if over {
			m.endAlarms(s.Index)
			m.loadedFrom, m.finalBelow = max(m.loadedFrom, s.Index+1), max(m.finalBelow, s.Index+1)
		}
		return over
	})
}
