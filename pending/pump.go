package pending

import (
	"errors"

	"github.com/conchhq/conch/fence"
)

func is(err, target error) bool { return errors.Is(err, target) }

// pump asks for everything that can be done now. One action of a kind is under way
// at a time, so that attempts leave in the order of their indices.
func (m *Machine) pump(now fence.Instant) {
	if m.retry != 0 && now < m.retry {
		return
	}
	m.retry = 0
	if m.phase == blank && !m.signing && !m.saving {
		m.phase = loading
		m.do(Load{})
	}
	if m.phase != working {
		return
	}
	m.later = 0
	m.ahead()
	m.raised()
	m.save()
	m.look(now)
	m.search()
	m.sign(now)
	m.submit(now)
}

// ahead moves the front to the lowest slot that is not in the chain.
func (m *Machine) ahead() {
	front := m.next
	for index, s := range m.slots {
		if s.in == nil {
			front = min(front, index)
		}
	}
	front = max(min(front, m.best), min(m.best, m.next))
	if front != m.front {
		m.front, m.since = front, m.head.Number
	}
}

// submit hands over what is stored and with no node, in order.
func (m *Machine) submit(now fence.Instant) {
	if m.sending || m.pausing(now) {
		return
	}
	var batch []Attempt
	for _, index := range m.ordered() {
		s := m.slots[index]
		if len(batch) == m.set.MaxBatch {
			break
		}
		if !s.unsent() || s.Index < m.best { // below: somebody's is in a block there
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
		m.do(Submit{Attempts: batch})
	}
}

// sign asks for further attempts first: what waits behind a stuck slot is stuck too.
func (m *Machine) sign(now fence.Instant) {
	if m.signing || m.pausing(now) {
		return
	}
	if wishes := m.wishes(now); len(wishes) > 0 {
		m.signing = true
		m.do(Replace{Wishes: wishes})
		return
	}
	room := min(m.set.MaxInFlight-m.inFlight(), m.set.MaxBatch)
	if m.strange || m.queued == 0 || room <= 0 {
		return
	}
	m.signing = true
	m.do(Assign{First: m.next, Most: min(room, max(m.queued, 1))})
}

func (m *Machine) inFlight() (n int) {
	for _, s := range m.slots {
		if s.in == nil {
			n++
		}
	}
	return n
}

// look asks for what is in doubt; and with each block for some of the others, since a
// pool loses transactions without a word.
func (m *Machine) look(now fence.Instant) {
	if m.looking {
		return
	}
	var hashes []Where
	add := func(s *slot) {
		for _, a := range s.Attempts {
			hashes = append(hashes, Where{Index: s.Index, Hash: a.Hash})
		}
	}
	order := m.ordered()
	for _, index := range order {
		if s := m.slots[index]; s.doubt && len(hashes) < m.set.MaxBatch {
			add(s)
		}
	}
	if m.head.Number >= m.looked+m.set.ResendAfter || now >= m.glance {
		m.looked, m.glance = m.head.Number, now.Add(m.set.Patience)
		m.rounds(order, func(s *slot) bool {
			_, t := s.last()
			if s.in == nil && !s.doubt && (t.reached == taken || t.reached == pooled) {
				add(s)
			}
			return len(hashes) < m.set.MaxBatch
		})
	}
	if len(hashes) > 0 {
		m.looking = true
		m.do(Probe{Hashes: hashes})
	}
}

// rounds visits the slots from where it stopped the last time.
func (m *Machine) rounds(order []uint64, visit func(*slot) bool) {
	start := 0
	for start < len(order) && order[start] < m.cursor {
		start++
	}
	for i := range order {
		index := order[(start+i)%len(order)]
		m.cursor = index + 1
		if !visit(m.slots[index]) {
			return
		}
	}
}

// reach is by how many blocks a reorganisation may have put a transaction before the
// height at which it was stored.
const reach = 64

// search asks who used a slot up.
func (m *Machine) search() {
	if m.searching {
		return
	}
	for _, index := range m.ordered() {
		if s := m.slots[index]; s.spent {
			m.searching = true
			m.do(Search{Index: index, From: s.Since - min(s.Since, reach)})
			return
		}
	}
}

// save stores what has changed.
func (m *Machine) save() {
	if m.saving {
		return
	}
	var changes []Change
	for _, index := range m.ordered() {
		s := m.slots[index]
		timedOut := s.in != nil && m.set.FinalAfter > 0 && m.head.Number > s.in.Block.Number+m.set.FinalAfter
		if c := s.change(timedOut); c != s.told && !s.mute() {
			s.telling = c
			changes = append(changes, c)
		}
	}
	if len(changes) > 0 {
		m.saving = true
		m.do(Save{Changes: changes})
	}
}

// saved forgets what is final and stored as such.
func (m *Machine) saved() {
	m.saving = false
	for _, index := range m.ordered() { // in order: alarms may pass
		s := m.slots[index]
		s.told = s.telling
		if s.settled && s.told.Status.Terminal() && s.told.Block.Hash == s.in.Block.Hash {
			delete(m.slots, index)
			m.calm(index)
			m.floor = max(m.floor, index+1)
			if s.told.Intent == Again {
				m.queued++
			}
		}
	}
}
