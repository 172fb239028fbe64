package pending

import "github.com/conchhq/conch/fence"

// pump asks for everything that can be done now. One action of a kind is under way
// at a time, so that attempts leave in the order of their indices.
func (m *machine) pump(now fence.Instant) {
	if m.retry != 0 && now < m.retry {
		return
	}
	m.retry = 0
	if m.phase == blank && !m.loads && !m.signing && !m.saving {
		m.loads, m.phase = true, loading
		m.do(load{})
	}
	if m.phase != working {
		return
	}
	m.later = 0
	if now >= m.resume {
		m.paused = 0 // else the instant, which is past, would be named by Next again and again
	}
	m.count()
	m.markStuck()
	m.save(now)
	m.look(now)
	m.search()
	m.sign(now)
	m.submit(now)
}

// census is what one walk over all slots finds.
type census struct {
	flying int  // slots that are not in the chain
	doubts bool // some are to be looked up
	spent  bool // some were used up by an unknown transaction
	raises bool // some may want a further attempt
	unsent bool // some have to be handed over
}

// count walks over all slots, and notes when the chain has taken some.
func (m *machine) count() {
	m.census = census{}
	c := &m.census
	for _, s := range m.slots.all() {
		if s.in == nil {
			c.flying++
			c.unsent = c.unsent || s.unsent()
			c.raises = c.raises || s.raise || s.void || s.Cancel || s.handedOn()
		}
		c.doubts = c.doubts || s.doubt
		c.spent = c.spent || s.spent
	}
	if m.best != m.front || c.flying == 0 { // at rest nothing has waited, however long
		m.front, m.since = m.best, m.head.Number
	}
}

// submit hands over what is stored and with no node, in order; no more of it than may
// be in flight. After a rewind there can be more: a pool that was full of what has to
// wait would refuse the one that all of it waits for.
func (m *machine) submit(now fence.Instant) {
	if m.sending || !m.census.unsent || m.pausing(now) {
		return
	}
	var batch []Attempt
	for _, s := range m.slots.from(m.best) { // below: somebody's is in a block there
		if len(batch) == m.set.MaxBatch || s.Index-m.best >= uint64(m.set.MaxInFlight) {
			break
		}
		if !s.unsent() {
			continue
		}
		a, t := s.last()
		if now < t.after {
			m.later = sooner(m.later, t.after)
			continue
		}
		batch = append(batch, *a)
	}
	if len(batch) > 0 {
		m.sending = true
		m.do(submit{Attempts: batch})
	}
}

// sign asks for further attempts first: what waits behind a stuck slot is stuck too.
func (m *machine) sign(now fence.Instant) {
	if m.signing || m.pausing(now) {
		return
	}
	if raises := m.raises(now); len(raises) > 0 {
		m.signing, m.raising = true, raises
		m.do(replace{Raises: raises})
		return
	}
	room := min(m.set.MaxInFlight-m.census.flying, m.set.MaxBatch)
	if m.strange || m.queued == 0 || room <= 0 {
		return
	}
	m.signing, m.raising, m.heard = true, nil, 0
	m.do(assign{First: m.next, Most: room})
}

// look asks for what is in doubt; and with each block for some of the others, since a
// pool loses transactions without a word.
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
		if !m.census.doubts || len(hashes) >= m.set.MaxBatch {
			break
		}
		if s.doubt {
			add(s)
		}
	}
	if m.head.Number >= m.looked+m.set.ResendAfter || now >= m.glance {
		m.looked, m.glance = m.head.Number, now.Add(m.set.Patience)
		m.rounds(func(s *slot) bool {
			_, t := s.last()
			if s.in == nil && !s.doubt && (t.reached == taken || t.reached == pooled) {
				add(s)
			}
			return len(hashes) < m.set.MaxBatch
		})
	}
	if len(hashes) > 0 {
		m.looking = true
		m.do(probe{Hashes: hashes})
	}
}

// rounds visits the slots from where it stopped the last time.
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

// reach is by how many blocks a reorganisation may have put a transaction before the
// height at which it was stored.
const reach = 64

// search asks who used a slot up.
func (m *machine) search() {
	if m.searching || !m.census.spent {
		return
	}
	for _, s := range m.slots.all() {
		if s.spent {
			m.searching = true
			m.do(search{Index: s.Index, From: s.Since - min(s.Since, reach)})
			return
		}
	}
}

// save stores what has changed: at once, but while much is under way only with a block,
// and not with each if they come fast, for much of it is final a few blocks later; and
// then not what was sent a moment ago: the next block overtakes that.
func (m *machine) save(now fence.Instant) {
	if m.saving {
		return
	}
	busy := m.sending || m.signing || m.queued > 0 && !m.strange || m.census.flying > m.set.MaxBatch
	if busy && now < m.due {
		m.later = sooner(m.later, m.due)
		return
	}
	if busy && m.written == m.head.Number && now < m.overdue {
		m.later = sooner(m.later, m.overdue)
		return
	}
	var changes []Change
	for _, s := range m.slots.all() {
		timedOut := s.in != nil && m.set.FinalAfter > 0 && m.head.Number > s.in.Block.Number+m.set.FinalAfter
		c := s.change(timedOut)
		if c == s.told || s.mute() {
			continue
		}
		if _, t := s.last(); busy && s.in == nil && !s.retracted && now < t.after.Add(m.set.Patience) {
			m.later = sooner(m.later, t.after.Add(m.set.Patience))
			continue
		}
		s.telling, s.saving = c, true
		changes = append(changes, c)
	}
	if len(changes) > 0 {
		m.saving = true
		m.written, m.overdue, m.due = m.head.Number, now.Add(m.set.Patience), now.Add(m.set.Pace)
		m.do(save{Changes: changes})
	}
}

// saved forgets what is final and stored as such.
func (m *machine) saved() {
	m.saving = false
	m.slots.sweep(func(s *slot) bool { // in order: alarms may pass
		if s.saving {
			s.told, s.saving = s.telling, false
			if s.told.Intent == Again { // also if the chain has taken that back meanwhile
				s.Intent = nil
				m.queued++
			}
		}
		over := s.settled && s.told.Status.closes() && s.told.Block.Hash == s.in.Block.Hash
		if over {
			m.calm(s.Index)
			m.floor, m.fixed = max(m.floor, s.Index+1), max(m.fixed, s.Index+1)
		}
		return over
	})
}
