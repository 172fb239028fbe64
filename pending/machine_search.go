package pending

import "github.com/conchhq/conch/chain"

// Blocks are read for two reasons: to find the transaction that used the nonce of a slot, and to find those of
// an earlier term, if reading blocks takes fewer calls than looking them up by their hashes (recall). Whatever is
// found on the way counts (W13).

// searches is how many blocks one action reads.
const searches = 50

// reach is how far below Since to search: a reorganisation may have moved a transaction down.
const reach = 64

// recall is the reading of blocks for the slots of an earlier term that the chain counts as used, and for which no
// block is stored. It ends at the head as of its beginning: later blocks come with the stream of heads. What it
// does not find is looked up by hash.
type recall struct {
	below    uint64 // slots of the earlier term below this nonce wait for it; 0: it is over
	at       uint64 // the height at which reading goes on; 0: it has not begun
	to       uint64 // the last height to read
	failures int    // in a row
}

const (
	callsOfBlock   = 3 // its header, its transactions, its receipts
	recallFailures = 3 // in a row, after which slots are looked up by hash
)

// recalls reports whether the slot waits for the recall.
func (m *machine) recalls(s *slot) bool { return s.Index < m.recall.below && s.unheard() }

// beginRecall decides whether to read blocks. A single request for hashes is made at once; else the decision needs
// the head.
func (m *machine) beginRecall() {
	if m.recall.below == 0 || m.recall.at > 0 {
		return
	}
	hashes, slots, lowest := 0, 0, m.head.Number
	for _, s := range m.slots.all() {
		if m.recalls(s) {
			slots++
			hashes += len(s.Attempts)
			lowest = min(lowest, s.Since)
		}
	}
	switch {
	case hashes <= m.set.MaxBatch:
		m.recall = recall{}
	case m.head.Hash == "":
	case uint64(hashes+slots) <= callsOfBlock*(m.head.Number-lowest+1):
		m.recall = recall{}
	default:
		m.recall.at, m.recall.to = max(1, lowest), m.head.Number // block 0 has no transactions
	}
}

// broke notes that blocks could not be read.
func (r *recall) broke(a search) {
	if a.Recall {
		if r.failures++; r.failures == recallFailures {
			*r = recall{}
		}
	}
}

// searchTo returns the last block that a search reads: the head, or the final one of a vacant nonce.
func (m *machine) searchTo(s *slot) chain.Block {
	if s.vacant() {
		return s.first
	}
	return m.head
}

// search reads blocks for the recall, or for one slot whose nonce is used.
func (m *machine) search() {
	if m.searching || m.head.Hash == "" {
		return
	}
	if m.recall.at > 0 {
		m.searching = true
		m.do(search{Recall: true, Of: m.head, From: m.recall.at})
		return
	}
	if !m.census.spent {
		return
	}
	for _, s := range m.slots.all() {
		if !s.spent {
			continue
		}
		to := m.searchTo(s)
		if s.searchAt == 0 {
			since := min(s.Since, to.Number)
			s.searchAt = max(1, since-min(since, reach))
		}
		m.searching = true
		m.do(search{Index: s.Index, Of: to, From: s.searchAt})
		return
	}
}

// found takes the account's transactions in some blocks, and how far the reading has got.
func (m *machine) found(in found) {
	m.searching = false
	for _, one := range in.Placed {
		if s := m.slots.get(one.Index); s != nil && (s.in == nil || s.vacant()) {
			m.place(s, &inclusion{Hash: one.Hash, Block: one.Block, Failed: one.Failed}, false)
		}
	}
	if in.Recall {
		m.recalled(in.Next)
		return
	}
	s := m.slots.get(in.Index)
	if s == nil || !s.spent {
		return
	}
	if s.searchAt = max(s.searchAt, in.Next); s.searchAt <= m.searchTo(s).Number {
		return // go on
	}
	s.spent, s.searchAt = false, 0
	if s.vacant() {
		s.inFinal = true
		return
	}
	s.Since -= min(s.Since, reach) // after a rewind it may have been included lower down
	m.suspect(s)
}

// recalled notes that the recall has read the blocks below a height.
func (m *machine) recalled(next uint64) {
	r := &m.recall
	if r.at == 0 {
		return // the rows were loaded anew meanwhile
	}
	if next > r.at {
		r.at, r.failures = next, 0
	}
	if r.at > min(r.to, m.head.Number) {
		*r = recall{}
	}
}
