package follower

import (
	"slices"
	"time"
)

// wanting is what the machine has asked for, and what has come before its turn.
type wanting struct {
	wants   []*want // by index, without gaps from one to the next that are not in early
	planned uint64  // the highest index that is wanted, or was
	asks    []*ask  // whose answers may come, by serial
	serial  uint64
	pace    pace

	early      map[uint64]early
	earlyBytes int

	parked time.Duration // since when the next record lacks; 0: it does not
	told   time.Duration // of the gap, for how long it was
}

// want is a range of records that are known of and not here.
type want struct {
	from, upto uint64
	via        string // the peer that told of them, or has begun to give them
	due        time.Duration
	pause      time.Duration
	tries      int
	anew       bool // a snapshot is asked for, since records did not help
}

// ask is a Pull whose answer may come.
type ask struct {
	serial     uint64
	to         string
	from, upto uint64
	at         time.Duration
	wanted     bool // it is known to be there; else it was asked for in case there is any
	first      bool // try of its want: how long it takes says something
}

// targetIndex is the highest index that somebody says to be committed.
func (m *Machine) targetIndex() uint64 {
	most := m.at.Index
	if m.base == nil {
		return most
	}
	if n := len(m.pool); n > 0 {
		most = max(most, m.pool[n-1].Index)
	}
	return max(most, m.hint)
}

// planWants wants what is known of and not yet wanted, and asks the peer that told of it.
func (m *Machine) planWants(via string) {
	if m.base == nil || m.spoiled || m.now < m.wary {
		return
	}
	upto := min(m.targetIndex(), m.at.Index+uint64(mostEarly))
	if m.planned = max(m.planned, m.at.Index); upto <= m.planned {
		return
	}
	w := &want{from: m.planned + 1, upto: upto, via: via, pause: m.pace.patience(), anew: m.blank}
	m.planned = upto
	if n := len(m.wants); n >= mostWants {
		m.wants[n-1].upto = upto
		return
	}
	m.wants = append(m.wants, w)
	m.beginWant(w)
}

// wakeWants asks the peer that has brought a new head for what nobody has given so far, and soon others: the head that it was asked for first may
// be a lie, or those who had it away.
func (m *Machine) wakeWants(via string) {
	if len(m.wants) == 0 || m.wants[0].tries <= 2 || m.spoiled || m.now < m.wary {
		return
	}
	w := m.wants[0]
	w.due = min(w.due, m.now+woken)
	if via != "" && m.peerOf(via).barred <= m.now && !slices.Contains(m.peersAsked(w), via) {
		m.askPeer(w, via)
	}
}

// narrowWants wants no more than is known of.
func (m *Machine) narrowWants() {
	most := m.targetIndex()
	m.wants = slices.DeleteFunc(m.wants, func(w *want) bool { return w.from > most && !w.anew })
	for _, w := range m.wants {
		w.upto = max(w.from, min(w.upto, most))
	}
	m.planned = min(m.planned, most)
}

// beginWant asks for a want the first time.
func (m *Machine) beginWant(w *want) {
	w.due = m.now + w.pause
	if w.via == "" || m.peerOf(w.via).barred > m.now {
		w.via = ""
		for _, to := range m.choosePeers(1, nil) {
			w.via = to
		}
	}
	if w.via == "" {
		return
	}
	m.askPeer(w, w.via)
	if m.recentBytes > small*len(m.recent) {
		return
	}
	for _, to := range m.choosePeers(m.cfg.breadth-1, []string{w.via}) {
		m.askPeer(w, to)
	}
}

// firstLack returns the first record of a want that is not here; false if there is none.
func (m *Machine) firstLack(w *want) (uint64, bool) {
	w.from = max(w.from, m.at.Index+1)
	for w.from <= w.upto {
		if _, is := m.early[w.from]; !is {
			return w.from, true
		}
		w.from++
	}
	return 0, false
}

// askPeer sends a Pull for what a want lacks.
func (m *Machine) askPeer(w *want, to string) {
	from, lacks := m.firstLack(w)
	if !lacks {
		return
	}
	upto := min(w.upto, from+MostRecords-1)
	if w.anew {
		from = 0
	}
	m.sendPull(ask{to: to, from: from, upto: upto, wanted: true, first: w.tries == 0})
}

// sendPull sends a Pull.
func (m *Machine) sendPull(a ask) {
	m.serial++
	a.serial, a.at = m.serial, m.now
	if len(m.asks) >= mostAsks {
		m.asks = slices.Delete(m.asks, 0, 1)
	}
	m.asks = append(m.asks, &a)
	m.counts.Asked++
	m.do(Ask{To: a.to, Pull: Pull{Serial: a.serial, From: a.from, Upto: a.upto, Known: m.newestHead().Index, Change: m.newestChange()}})
}

// pollPeer asks a peer for whatever comes next.
func (m *Machine) pollPeer(to string) {
	m.fresh = m.now
	from := m.at.Index + 1
	if m.base != nil {
		m.sendPull(ask{to: to, from: from, upto: from + MostRecords - 1})
	}
}

// retryWants asks other peers for what has not come in time, with growing pauses. Nothing is ever given up (B9).
func (m *Machine) retryWants() {
	if m.spoiled || m.base == nil {
		return
	}
	m.wants = slices.DeleteFunc(m.wants, func(w *want) bool {
		_, lacks := m.firstLack(w)
		return !lacks
	})
	for _, w := range m.wants {
		if m.now < w.due {
			continue
		}
		w.tries++
		if w.tries > 2 {
			w.pause = min(2*w.pause, mostPatience)
		}
		w.due = m.now + w.pause
		for _, to := range m.choosePeers(min(w.tries, abreast), m.peersAsked(w)) {
			m.askPeer(w, to)
		}
	}
	m.planWants("")
}

// peersAsked returns the peers that were asked for the first thing that a want lacks, and still have time to answer.
func (m *Machine) peersAsked(w *want) (names []string) {
	from, _ := m.firstLack(w)
	for _, a := range m.asks {
		if a.wanted && a.from <= from && from <= a.upto && m.now-a.at < holdFor {
			names = append(names, a.to)
		}
	}
	return names
}

// choosePeers draws up to n peers that have not lied lately, without some.
func (m *Machine) choosePeers(n int, without []string) []string {
	var able []string
	for _, name := range m.peers {
		if name != m.cfg.Self && m.known[name].barred <= m.now && !slices.Contains(without, name) {
			able = append(able, name)
		}
	}
	for i := range min(n, len(able)) {
		j := i + m.chance.Below(len(able)-i)
		able[i], able[j] = able[j], able[i]
	}
	return able[:min(n, len(able))]
}

// expireAsks forgets the requests that nobody answers any more.
func (m *Machine) expireAsks() {
	for len(m.asks) > 0 && m.now-m.asks[0].at >= expires {
		m.asks = slices.Delete(m.asks, 0, 1)
	}
	for len(m.held) > 0 && m.now-m.held[0].at >= holdFor {
		h := m.held[0]
		m.held = slices.Delete(m.held, 0, 1)
		m.giveHistory(h.from, h.pull, m.now-h.at, false)
	}
}

// tellParked tells of a gap that lasts.
func (m *Machine) tellParked() {
	switch {
	case m.vouchedIndex() == m.at.Index:
		m.parked, m.told = 0, 0
	case m.parked == 0:
		m.parked, m.told = max(m.now, 1), 0
	case m.now-m.parked >= max(parkedFor, 2*m.told):
		m.told = m.now - m.parked
		m.do(Parked{At: m.at.Index, Upto: m.vouchedIndex(), For: m.told})
	}
}
