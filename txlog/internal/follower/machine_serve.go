package follower

import (
	"slices"
	"time"
)

// serving is what the machine gives to others.
type serving struct {
	first  uint64 // of the records in the store
	held   []held // by age
	offers []Offer
}

// held is a request for what is not here yet.
type held struct {
	from string
	pull Pull
	at   time.Duration
}

// takePull gives what is here, whatever this node itself waits for (V8). What is not here yet is given when it comes.
func (m *Machine) takePull(from string, p Pull) {
	switch {
	case !m.spendAllowance(from):
	case p.From > 0 && p.Upto < p.From:
		m.refuseInput(from, fault(ErrRange, "%d to %d", p.From, p.Upto))
	case p.From <= m.at.Index || len(m.bridgesAfter(p.Change)) > 0:
		m.giveHistory(from, p, 0, false)
	case m.hasNoRoom(from, p.From):
		m.do(Give{To: from, History: History{Serial: p.Serial}})
	default:
		m.held = append(m.held, held{from: from, pull: p, at: m.now})
	}
}

// hasNoRoom reports whether a request finds no room among those that wait: all, those of its peer, or those for the same record,
// which would not be given so often.
func (m *Machine) hasNoRoom(from string, index uint64) bool {
	peer, same := 0, 0
	for _, h := range m.held {
		if h.from == from {
			peer++
		}
		if h.pull.From <= index && index <= h.pull.Upto {
			same++
		}
	}
	return len(m.held) >= mostHeld || peer >= mostHeld/8 || same >= m.cfg.mostGiven
}

// releasePulls answers the requests for what has come; fast ones only those that need no store.
func (m *Machine) releasePulls(fast bool) {
	m.held = slices.DeleteFunc(m.held, func(h held) bool {
		if h.pull.From > m.at.Index || fast && m.recordsInMemory(h.pull.From) == nil {
			return false
		}
		m.giveHistory(h.from, h.pull, m.now-h.at, fast)
		return true
	})
}

// giveHistory answers a request: with records, or with the offer of a snapshot.
func (m *Machine) giveHistory(to string, p Pull, waited time.Duration, fast bool) {
	a := History{Serial: p.Serial, Waited: waited, Bridges: m.bridgesAfter(p.Change)}
	newest := m.newestHead()
	if newest.Index > p.Known {
		a.Heads = append(a.Heads, newest)
	}
	recent := m.recordsInMemory(p.From)
	switch offer := m.offerFor(p.From); {
	case p.From > m.at.Index:
		m.do(Give{To: to, History: a})
	case offer != nil && !fast:
		a.Offer = offer
		m.do(Give{To: to, History: a})
	case p.From < m.first:
		m.do(Give{To: to, History: a})
	case len(recent) > 0 && m.now-recent[0].at < young && recent[0].given >= m.cfg.mostGiven:
		m.do(Give{To: to, History: a}) // nobody carries the crowd: others have it too
	case len(recent) == 0:
		m.do(Give{To: to, History: a, From: p.From, Upto: min(p.Upto, m.at.Index, p.From+MostRecords-1)})
	default:
		size := 0
		for i := range recent {
			r := &recent[i]
			if size += len(r.Raw()); i > 0 && size > MostAnswer || i == MostRecords || r.Index > p.Upto {
				break
			}
			r.given++
			a.Records = append(a.Records, r.Record)
		}
		last := a.Records[len(a.Records)-1].Index
		if h := m.lastCover(last); h.Index >= p.From && p.Known != last && (h.Index != newest.Index || newest.Index < p.Known) {
			a.Heads = append(a.Heads, h)
		}
		m.do(Give{To: to, History: a})
	}
}

// offerFor returns the snapshot that is better for a node than records from an index on: there are no such records any more, or
// too many. It is nil if there is none.
func (m *Machine) offerFor(from uint64) *Offer {
	if len(m.offers) == 0 {
		return nil
	}
	newest := m.offers[len(m.offers)-1]
	if from < m.first || newest.Head.Index >= from+m.cfg.SnapshotAfter {
		return &newest
	}
	return nil
}

// noteSnapshot takes note of a snapshot that is in the store.
func (m *Machine) noteSnapshot(o Offer) {
	m.offers = append(m.offers, o)
	if n := len(m.offers); n > snapshots {
		m.offers = slices.Clone(m.offers[n-snapshots:])
	}
}

// noteDropped takes note of records that are no longer in the store.
func (m *Machine) noteDropped(first uint64) {
	m.first = max(m.first, first)
	m.offers = slices.DeleteFunc(m.offers, func(o Offer) bool { return o.Head.Index+1 < first })
}

// givePiece has the loop give a piece of a snapshot, which it looks for in the store.
func (m *Machine) givePiece(from string, w Want) {
	if m.spendAllowance(from) {
		m.do(GivePiece{To: from, Want: w})
	}
}
