package follower

import (
	"slices"

	"github.com/conchhq/conch/txlog"
)

// early is a record that waits for a head, or for those before it.
type early struct {
	txlog.Record

	from string
}

// answered takes an answer to something that was asked.
func (m *Machine) answered(from string, a *Answer) {
	if !m.takes(from) {
		return
	}
	k := m.ofSerial(from, a.Serial)
	if k == nil {
		m.refuse(from, ErrUnasked)
		return
	}
	if err := m.sound(k, a); err != nil {
		m.lie(from, err)
		m.hurry(k.from)
		return
	}
	if k.first && len(a.Records) > 0 {
		m.pace.add(m.now-k.at, a.Waited)
	}
	for _, r := range a.Records {
		m.keep(r, from)
	}
	for i := range a.Bridges {
		m.cross(&a.Bridges[i], from)
	}
	for _, h := range a.Heads {
		m.hear(h, from)
	}
	if a.Offer != nil {
		m.offered(from, *a.Offer)
	}
	m.advance()
	m.goOn(k, from, a)
}

// ofSerial returns the request that an answer is to, which has then been answered.
func (m *Machine) ofSerial(from string, serial uint64) *ask {
	at := slices.IndexFunc(m.asks, func(a *ask) bool { return a.serial == serial && a.to == from })
	if at < 0 {
		return nil
	}
	k := m.asks[at]
	m.asks = slices.Delete(m.asks, at, at+1)
	return k
}

// sound checks that an answer is to what was asked.
func (m *Machine) sound(k *ask, a *Answer) error {
	n := uint64(len(a.Records))
	switch {
	case n > MostRecords || len(a.Heads) > MostHeads || len(a.Bridges) > MostBridges:
		return fault(ErrAnswer, "%d records, %d heads and %d bridges", n, len(a.Heads), len(a.Bridges))
	case n > 0 && (k.from == 0 || a.Records[0].Index != k.from || n > k.upto-k.from+1):
		return fault(ErrAnswer, "%d records from entry %d on, and entries %d to %d were asked for", n, a.Records[0].Index, k.from, k.upto)
	}
	for i, r := range a.Records {
		switch {
		case r.Log != m.at.Log:
			return fault(txlog.ErrChain, "entry %d is of log %s, and this is %s", r.Index, r.Log.Short(), m.at.Log.Short())
		case i > 0 && (r.Index != a.Records[i-1].Index+1 || r.Prev != a.Records[i-1].Hash()):
			return fault(ErrAnswer, "entry %d does not follow the one that was given before it", r.Index)
		}
	}
	return nil
}

// goOn asks for the rest of what was answered in part. A peer that had nothing is replaced: the first one at once, others at the
// next tick; not if it has waited for it, or if a snapshot is fetched.
func (m *Machine) goOn(k *ask, from string, a *Answer) {
	count := len(a.Records)
	if count == 0 && a.Waited < holdFor && m.fetch == nil {
		m.hurry(k.from)
		if k.first {
			m.retry()
		}
	}
	m.plan(from)
	for _, w := range m.wants {
		next, lacks := m.lacks(w)
		if count > 0 && lacks && next == k.from+uint64(count) && len(m.busy(w)) == 0 {
			w.via, w.tries, w.pause = from, 0, m.pace.patience()
			m.begin(w)
			return
		}
	}
}

// hurry has what lacks at an index be asked for at the next tick.
func (m *Machine) hurry(index uint64) {
	for _, w := range m.wants {
		if w.from <= index && index <= w.upto || index == 0 && w.anew {
			w.due = m.now
		}
	}
}

// keep keeps a record until its turn comes (V2).
func (m *Machine) keep(r txlog.Record, from string) {
	_, here := m.early[r.Index]
	switch {
	case m.base == nil || m.spoiled || m.blank:
	case r.Index <= m.at.Index || here:
		m.counts.Doubled++
	case r.Index > m.at.Index+uint64(mostEarly):
		m.counts.Dropped++
	default:
		m.early[r.Index] = early{Record: r, from: from}
		m.earlyBytes += len(r.Raw())
		m.makeRoom()
	}
}

// makeRoom drops the records whose turn comes last. If all of them follow each other and no head covers them, they are
// of no use: a snapshot is asked for.
func (m *Machine) makeRoom() {
	for m.earlyBytes > m.cfg.mostBytes {
		last := m.at.Index
		for index := range m.early {
			last = max(last, index)
		}
		m.counts.Dropped++
		m.lose(last)
		if m.wantOf(last, last) == nil { // else it is asked for when its turn comes: there may be no room for long
			m.again(last, last)
		}
		if last == m.run()+1 && (len(m.pool) == 0 || m.pool[0].Index >= last) {
			m.drop()
			m.wants = []*want{{from: m.at.Index + 1, upto: m.at.Index + 1, due: m.now, pause: m.pace.patience(), anew: true}}
			m.planned = m.at.Index + 1
		}
	}
}

// unkeep drops all records that wait and that a peer has given. They are wanted again.
func (m *Machine) unkeep(from string) {
	first, last := ^uint64(0), uint64(0)
	for index, e := range m.early {
		if e.from == from {
			first, last = min(first, index), max(last, index)
			m.lose(index)
		}
	}
	m.again(first, last)
}

// lose drops a record that waits.
func (m *Machine) lose(index uint64) {
	m.earlyBytes -= len(m.early[index].Raw())
	delete(m.early, index)
}

// wantOf returns the want that a range is part of; nil if there is none.
func (m *Machine) wantOf(first, last uint64) *want {
	for _, w := range m.wants {
		if w.from <= first && last <= w.upto {
			return w
		}
	}
	return nil
}

// again wants a range of which something was dropped. It is asked for at the next tick.
func (m *Machine) again(first, last uint64) {
	if w := m.wantOf(first, last); w != nil {
		w.due = m.now
		return
	}
	at := 0
	for at < len(m.wants) && m.wants[at].from <= first {
		at++
	}
	m.wants = slices.Insert(m.wants, at, &want{from: first, upto: last, due: m.now, pause: m.pace.patience()})
}

// run returns the last index up to which all records are here.
func (m *Machine) run() uint64 {
	last := m.at.Index
	for {
		if _, is := m.early[last+1]; !is {
			return last
		}
		last++
	}
}

// advance applies what heads cover, and nothing else (V6).
func (m *Machine) advance() {
	for goesOn := true; goesOn; {
		goesOn = m.base != nil && !m.spoiled && !m.blank && m.advances()
	}
}

// advances goes on to the highest head up to which all records are here. It is false if there is nothing to do.
func (m *Machine) advances() bool {
	run := m.run()
	if run == m.at.Index {
		return false
	}
	for _, h := range slices.Backward(m.pool) {
		if h.Index > run {
			continue
		}
		switch m.check(h.Head) {
		case fits:
			return m.apply(h.Index, h.Head)
		case changed:
			return true
		case other:
		}
	}
	return false
}

// verdict is what came of comparing records with a head.
type verdict uint8

const (
	fits    verdict = iota
	changed         // something was dropped: look again
	other           // the records are those of another head
)

// check goes back from a head to the copy. The hash in each record says which one comes before it, so the first one that
// is another was given by a peer that lied.
func (m *Machine) check(h txlog.Head) verdict {
	want := h.Hash
	for index := h.Index; index > m.at.Index; index-- {
		e := m.early[index]
		if e.Hash() != want {
			if slices.ContainsFunc(m.pool, func(c claim) bool { return c.Index == index && c.Hash == e.Hash() }) {
				return other
			}
			m.unkeep(e.from)
			m.lie(e.from, fault(ErrUncovered, "entry %d", index))
			return changed
		}
		want = e.Prev
	}
	if want == m.at.Hash && m.early[h.Index].State == h.State {
		return fits
	}
	m.parts(m.cover(m.at.Index), h, m.at.Index)
	m.distrust(h)
	m.drop()
	m.beWary()
	return changed
}

// beWary has nothing be pulled for a while, each time for longer: what was pulled is of no use here.
func (m *Machine) beWary() {
	m.warier = min(max(2*m.warier, leastWary), mostWary)
	m.wary = m.now + m.warier
}

// apply applies records up to a head.
func (m *Machine) apply(upto uint64, h txlog.Head) bool {
	var done []txlog.Record
	for index := m.at.Index + 1; index <= upto; index++ {
		r := m.early[index].Record
		if err := m.base.Apply(r); err != nil {
			if m.unfit == r.Index { // a copy that was made anew does not take it either
				m.beWary()
			}
			m.spoiled, m.unfit = true, r.Index
			m.do(Spoiled{Why: err})
			return false
		}
		done = append(done, r)
	}
	for _, r := range done {
		m.earlyBytes -= len(r.Raw())
		delete(m.early, r.Index)
		m.passes(r)
	}
	m.members = slices.Clone(m.base.Members())
	m.parked, m.warier, m.unfit, m.fresh = 0, 0, 0, m.now
	if m.fetch != nil && upto >= m.fetch.offer.Head.Index {
		m.took, m.fetch = m.fetch.offer.Head.Hash, nil
	}
	m.release(true) // what others wait for comes before Apply: it is verified, and need not wait for this node's disk
	m.do(Apply{Records: done, Head: h})
	m.passed()
	m.release(false)
	m.snapshot(h)
	return true
}
