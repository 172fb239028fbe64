package ledger

import (
	"maps"
	"slices"
)

// Model is the contract in memory, by the same rules. It is a pure machine: blocks go in, facts come out. It is not
// safe for concurrent use. It is a View of its last block.
type Model struct {
	contract Contract
	scheme   Scheme
	number   uint64 // of the last block
	taken    map[Intent]landed
	unspent  map[StateID]bool
	undo     []undo // of each block, the oldest first
}

// landed is how an intent ended.
type landed struct{ assembled, payload Hash }

// undo has what a block changed.
type undo struct {
	taken           []Intent
	spent, creating []StateID
}

// NewModel returns a contract in its first state, in which there is none. The block with number 0 is its own.
func NewModel(c Contract, s Scheme) *Model {
	return &Model{contract: c, scheme: s, taken: map[Intent]landed{}, unspent: map[StateID]bool{}}
}

// Sent is a transaction of a block: entries, or the cancellation of an intent.
type Sent struct {
	By      Account // who has sent it
	Entries []Entry
	Cancel  *Cancellation
}

// Cancellation is the owner's word that an intent must not land.
type Cancellation struct {
	Intent
	Signature []byte
}

// Number implements View: it is that of the last block.
func (m *Model) Number() uint64 { return m.number }

// Block carries out the transactions of the next block in their order, and returns what became of each intent.
func (m *Model) Block(sent ...Sent) (facts []Fact) {
	m.number++
	m.undo = append(m.undo, undo{})
	for _, tx := range sent {
		for _, e := range tx.Entries {
			facts = append(facts, m.enter(tx.By, e))
		}
		if tx.Cancel != nil {
			facts = append(facts, m.cancel(*tx.Cancel))
		}
	}
	return facts
}

// Recreate brings a state back in the last block, as no contract may: it is for proofs that something falls then.
func (m *Model) Recreate(s StateID) {
	if m.unspent[s] {
		return
	}
	m.unspent[s] = true
	u := &m.undo[len(m.undo)-1]
	u.creating = append(u.creating, s)
}

// Revert takes the last block back.
func (m *Model) Revert() {
	last := m.undo[len(m.undo)-1]
	for _, in := range last.taken {
		delete(m.taken, in)
	}
	for _, s := range last.spent {
		m.unspent[s] = true
	}
	for _, s := range last.creating { // after the spent ones: a block may create a state and spend it
		delete(m.unspent, s)
	}
	m.undo = m.undo[:len(m.undo)-1]
	m.number--
}

func (m *Model) enter(by Account, e Entry) Fact {
	assembled := m.scheme.Assembled(m.contract, e.Attempt)
	fact := Fact{Intent: e.Intent, Payload: e.Payload, Assembled: assembled, Skipped: m.judge(by, e, assembled)}
	if fact.Skipped != Taken {
		return fact
	}
	u := &m.undo[len(m.undo)-1]
	m.take(e.Intent, landed{assembled, e.Payload})
	for _, s := range e.Inputs {
		delete(m.unspent, s)
		u.spent = append(u.spent, s)
	}
	for i := range e.Outputs {
		s := m.scheme.State(assembled, i)
		m.unspent[s] = true
		u.creating = append(u.creating, s)
	}
	return fact
}

func (m *Model) take(in Intent, as landed) {
	m.taken[in] = as
	u := &m.undo[len(m.undo)-1]
	u.taken = append(u.taken, in)
}

// judge returns the first rule that the entry breaks.
func (m *Model) judge(by Account, e Entry, assembled Hash) Reason {
	_, repeated := m.taken[e.Intent]
	switch {
	case !e.WellFormed():
		return Malformed
	case m.contract.place(e.Owner) < 0:
		return NotMember
	case repeated:
		return Repeated
	case m.number > e.Grant.ValidUntil:
		return Expired
	case !m.contract.granted(m.scheme, by, e, assembled):
		return NotGranted
	case !m.contract.endorsed(m.scheme, e.Endorsements, assembled):
		return NotEndorsed
	}
	for _, s := range slices.Concat(e.Inputs, e.Reads) {
		if !m.unspent[s] {
			return Missing
		}
	}
	return Taken
}

func (m *Model) cancel(c Cancellation) Fact {
	fact := Fact{Intent: c.Intent}
	_, repeated := m.taken[c.Intent]
	switch {
	case m.contract.place(c.Owner) < 0:
		fact.Skipped = NotMember
	case repeated:
		fact.Skipped = Repeated
	case !m.scheme.Verify(c.Owner, m.scheme.Cancelled(m.contract, c.Intent), c.Signature):
		fact.Skipped = NotGranted
	default:
		m.take(c.Intent, landed{})
	}
	return fact
}

// Landed implements View.
func (m *Model) Landed(in Intent) (assembled, payload Hash, is bool) {
	as, is := m.taken[in]
	return as.assembled, as.payload, is
}

// Unspent implements View.
func (m *Model) Unspent(s StateID) bool { return m.unspent[s] }

// States returns all that are unspent, sorted.
func (m *Model) States() []StateID {
	return slices.SortedFunc(maps.Keys(m.unspent), StateID.Compare)
}
