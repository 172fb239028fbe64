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

// takeAnswer takes an answer to something that was asked.
func (m *Machine) takeAnswer(from string, a *History) {
	if !m.spendAllowance(from) {
		return
	}
	k := m.askOfSerial(from, a.Serial)
	if k == nil {
		m.refuseInput(from, ErrUnasked)
		return
	}
	if err := m.checkAnswer(k, a); err != nil {
		m.refuseLie(from, err)
		m.hurryWant(k.from)
		return
	}
	if k.first && len(a.Records) > 0 {
		m.pace.add(m.now-k.at, a.Waited)
	}
	for _, r := range a.Records {
		m.keepEarly(r, from)
	}
	for i := range a.Bridges {
		m.takeBridge(&a.Bridges[i], from)
	}
	for _, h := range a.Heads {
		m.judgeHead(h, from)
	}
	if a.Offer != nil {
		m.judgeOffer(from, *a.Offer)
	}
	m.advanceCopy()
	m.askForRest(k, from, a)
}

// askOfSerial returns the request that an answer is to, which has then been answered.
func (m *Machine) askOfSerial(from string, serial uint64) *ask {
	at := slices.IndexFunc(m.asks, func(a *ask) bool { return a.serial == serial && a.to == from })
	if at < 0 {
		return nil
	}
	k := m.asks[at]
	m.asks = slices.Delete(m.asks, at, at+1)
	return k
}

// checkAnswer checks that an answer is to what was asked.
func (m *Machine) checkAnswer(k *ask, a *History) error {
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

// askForRest asks for the rest of what was answered in part. A peer that had nothing is replaced: the first one at once, others at the
// next tick; not if it has waited for it, or if a snapshot is fetched.
func (m *Machine) askForRest(k *ask, from string, a *History) {
	count := len(a.Records)
	if count == 0 && a.Waited < holdFor && m.fetch == nil {
		m.hurryWant(k.from)
		if k.first {
			m.retryWants()
		}
	}
	m.planWants(from)
	for _, w := range m.wants {
		next, lacks := m.firstLack(w)
		if count > 0 && lacks && next == k.from+uint64(count) && len(m.peersAsked(w)) == 0 {
			w.via, w.tries, w.pause = from, 0, m.pace.patience()
			m.beginWant(w)
			return
		}
	}
}

// hurryWant has what lacks at an index be asked for at the next tick.
func (m *Machine) hurryWant(index uint64) {
	for _, w := range m.wants {
		if w.from <= index && index <= w.upto || index == 0 && w.anew {
			w.due = m.now
		}
	}
}

// keepEarly keeps a record until its turn comes (V2).
func (m *Machine) keepEarly(r txlog.Record, from string) {
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
		m.dropRecord(last)
		if m.wantOf(last, last) == nil { // else it is asked for when its turn comes: there may be no room for long
			m.wantAgain(last, last)
		}
		if last == m.runsUpto()+1 && (len(m.pool) == 0 || m.pool[0].Index >= last) {
			m.dropPulled()
			m.wants = []*want{{from: m.at.Index + 1, upto: m.at.Index + 1, due: m.now, pause: m.pace.patience(), anew: true}}
			m.planned = m.at.Index + 1
		}
	}
}

// dropFrom drops all records that wait and that a peer has given. They are wanted again.
func (m *Machine) dropFrom(from string) {
	first, last := ^uint64(0), uint64(0)
	for index, e := range m.early {
		if e.from == from {
			first, last = min(first, index), max(last, index)
			m.dropRecord(index)
		}
	}
	m.wantAgain(first, last)
}

// dropRecord drops a record that waits.
func (m *Machine) dropRecord(index uint64) {
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

// wantAgain wants a range of which something was dropped. It is asked for at the next tick.
func (m *Machine) wantAgain(first, last uint64) {
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

// runsUpto returns the last index up to which all records are here.
func (m *Machine) runsUpto() uint64 {
	last := m.at.Index
	for {
		if _, is := m.early[last+1]; !is {
			return last
		}
		last++
	}
}

// advanceCopy applies what heads cover, and nothing else (V6).
func (m *Machine) advanceCopy() {
	for goesOn := true; goesOn; {
		goesOn = m.base != nil && !m.spoiled && !m.blank && m.advanceOnce()
	}
}

// advanceOnce goes on to the highest head up to which all records are here. It is false if there is nothing to do.
func (m *Machine) advanceOnce() bool {
	run := m.runsUpto()
	if run == m.at.Index {
		return false
	}
	for _, h := range slices.Backward(m.pool) {
		if h.Index > run {
			continue
		}
		switch m.checkChain(h.Head) {
		case fits:
			return m.applyUpto(h.Index, h.Head)
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

// checkChain goes back from a head to the copy. The hash in each record says which one comes before it, so the first one that
// is another was given by a peer that lied.
func (m *Machine) checkChain(h txlog.Head) verdict {
	want := h.Hash
	for index := h.Index; index > m.at.Index; index-- {
		e := m.early[index]
		if e.Hash() != want {
			if slices.ContainsFunc(m.pool, func(c claim) bool { return c.Index == index && c.Hash == e.Hash() }) {
				return other
			}
			m.dropFrom(e.from)
			m.refuseLie(e.from, fault(ErrUncovered, "entry %d", index))
			return changed
		}
		want = e.Prev
	}
	if want == m.at.Hash && m.early[h.Index].State == h.State {
		return fits
	}
	m.tellFork(m.firstCover(m.at.Index), h, m.at.Index)
	m.distrustHead(h)
	m.dropPulled()
	m.beWary()
	return changed
}

// beWary has nothing be pulled for a while, each time for longer: what was pulled is of no use here.
func (m *Machine) beWary() {
	m.warier = min(max(2*m.warier, leastWary), mostWary)
	m.wary = m.now + m.warier
}

// applyUpto applies records up to a head.
func (m *Machine) applyUpto(upto uint64, h txlog.Head) bool {
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
		m.notePassed(r)
	}
	m.members = slices.Clone(m.base.Members())
	m.parked, m.warier, m.unfit, m.fresh = 0, 0, 0, m.now
	if m.fetch != nil && upto >= m.fetch.offer.Head.Index {
		m.took, m.fetch = m.fetch.offer.Head.Hash, nil
	}
	m.releasePulls(true) // what others wait for comes before Apply: it is verified, and need not wait for this node's disk
	m.do(Apply{Records: done, Head: h})
	m.noteHeadsPassed()
	m.releasePulls(false)
	m.beginSnapshot(h)
	return true
}
