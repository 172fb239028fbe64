package coordinator

import (
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// work is an intent that this node coordinates, or an attempt that it has inherited.
type work struct {
	ledger.Intent
	owner      *client
	delegation *delegation // nil if it was loaded or inherited
	payload    ledger.Hash
	order      uint64 // in which its owner has handed it over (I4)
	state      state
	was        state // before the last event
	inherited  bool  // another node has dispatched it

	whole     wire.Whole
	assembled ledger.Hash // zero unless it has an attempt
	seat      uint64      // the order in which attempts came on board; each has its own
	boarded   bool
	before    *work // on board
	after     *work
	doomed    bool             // it is dispatched, and cannot land by what this node has seen
	outputs   []ledger.StateID // that are offered
	signed    []ledger.Endorsement
	against   int         // members that will not endorse it
	failed    map[int]int // how often the rules of a member have failed on it, by its place
	request   *ask        // to assemble it or to grant it, in which it waits
	later     time.Duration
	listedAt  uint64 // how often it was put into a list
	grant     ledger.Grant
	until     uint64 // the last block for which it is waited
	block     uint64
	noted     bool
	stored    bool          // its row is durable, so that it may be submitted
	again     int           // how often it was handed over again
	againAt   time.Duration // not before
}

// endorsers returns the members whose endorsements its entry has.
func (w *work) endorsers(needed int) (places []byte) {
	for _, e := range w.signed[:min(needed, len(w.signed))] {
		places = wire.AddPlace(places, e.Member)
	}
	return places
}

// delegation is what a sender has said of work.
type delegation struct {
	id     ledger.Hash
	rng    ranking.Range
	avoid  []ledger.Account
	until  time.Duration // until then avoid counts
	intact int           // works
}

// free reports whether nothing but a grant stands before the dispatch of an attempt: what it is built on is on its way
// to the ledger, or asked for in the same request, and what only reads a state goes before what spends it. Between what two
// nodes send there is no order, and what a liar hands over it may never send: that has to be in a block.
func (m *Machine) free(w *work, batch *ask) bool {
	goes := func(u *work) bool {
		if u.inherited {
			return u.state >= included
		}
		return u == w || u.state >= storing || u.state == granting && u.request == batch
	}
	a := w.whole.Attempt
	for _, id := range a.Inputs {
		if made, is := m.flight.creates[id]; is && !goes(made.by) {
			return false
		}
		for _, reader := range m.flight.readers[id] {
			if !goes(reader) {
				return false
			}
		}
	}
	for _, id := range a.Reads {
		if made, is := m.flight.creates[id]; is && !goes(made.by) {
			return false
		}
	}
	return true
}

// disembark takes an attempt back, and with it all that is built on it, of all owners (P36). What is built on one that is
// final stays: its states are the ledger's.
func (m *Machine) disembark(w *work) {
	if w.boarded {
		outputs := w.outputs
		m.flight.leave(w)
		m.orphan(outputs)
		if w.was < included && !w.inherited {
			m.inFlight--
		}
		m.changedReady = true
	}
	w.whole, w.assembled, w.seat, w.signed, w.against, w.failed, w.request = wire.Whole{}, ledger.Hash{}, 0, nil, 0, nil, nil
	w.doomed = false
}

// unwind gives an attempt up; the intent is assembled again.
func (m *Machine) unwind(w *work) {
	m.disembark(w)
	if w.later > m.now {
		m.delay(w)
		return
	}
	w.owner.again = append(w.owner.again, w.list())
}

// giveBack gives an attempt up whose row may be durable, while nothing has left this node, or what has left can never land: the row is
// forgotten, and the grant is returned. The intent goes with it. This node may have named the attempt in a handover, and then it
// dispatches no other one.
func (m *Machine) giveBack(w *work) {
	why := wire.Unknown
	if w.was == dispatched {
		m.reason, why = ledger.Expired, wire.Failed
		m.count(w, abandoned)
	}
	m.drop(w)
	m.notice(w.owner.account, wire.Returned{Items: []wire.Step{{Sequence: w.Sequence, Delegation: w.grant.Delegation}}, Why: why})
}

// drop forgets work.
func (m *Machine) drop(w *work) {
	if w.was >= storing && !w.inherited {
		m.do(Forget{Intents: []ledger.Intent{w.Intent}})
	}
	in := w.Intent
	m.disembark(w)
	if w.inherited {
		left := slices.DeleteFunc(m.tenure.inherited[in], func(x *work) bool { return x == w })
		if m.tenure.inherited[in] = left; len(left) == 0 {
			delete(m.tenure.inherited, in)
		}
		m.clear(w.owner)
		return
	}
	if w.was != included {
		w.owner.digest.Add(in.Sequence, -1)
	}
	delete(m.works, in)
	delete(w.owner.works, in.Sequence)
	if d := w.delegation; d != nil {
		if d.intact--; d.intact == 0 {
			delete(w.owner.delegations, d.id)
		}
	}
	m.clear(w.owner)
}

// clear empties the lists of a sender, and of the machine, in which nothing waits any more: who has no work gets no tick
// that would do it later.
func (m *Machine) clear(c *client) {
	if len(c.works) > 0 {
		return
	}
	c.fresh, c.again, c.blocked, c.untold = nil, nil, nil, nil
	m.endTurn(c.lost)
	if len(m.works) > 0 {
		return
	}
	m.flight.clear() // an empty map keeps the room for all that it once had
	m.works, m.ready, m.delayed, m.swept = map[ledger.Intent]*work{}, nil, nil, nil
	for _, c := range m.order {
		c.works, c.delegations = map[ledger.Sequence]*work{}, nil
	}
	for _, one := range m.members {
		one.owed = nil
	}
}

// queue makes an attempt wait for its turn to be granted.
func (m *Machine) queue(w *work) { m.ready, m.changedReady = append(m.ready, w), true }

// include notes the block of an attempt.
func (m *Machine) include(w *work) {
	w.block = m.head
	m.blocks[m.head] = append(m.blocks[m.head], w)
	if !w.inherited {
		m.inFlight--
		w.owner.digest.Add(w.Sequence, -1)
	}
}

// exclude takes it back, after a reorganisation.
func (m *Machine) exclude(w *work) {
	w.block = 0
	if !w.inherited {
		m.inFlight++
		w.owner.digest.Add(w.Sequence, 1)
	}
}
