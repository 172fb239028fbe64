// Package model is the base ledger's contract in memory, by the rules of package ledger, for tests and simulations.
package model

import (
	"maps"
	"slices"

	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Model is the contract in memory, by the same rules. It is a pure machine: blocks go in, facts come out. It is not
// safe for concurrent use. It is a ledger.View of its last block.
type Model struct {
	contract ledger.Contract
	scheme   ledger.Scheme
	number   uint64 // of the last block
	taken    map[ledger.Intent]landed
	unspent  map[ledger.StateID]bool
	undo     []undo // of each block, the oldest first
}

// landed is how an intent ended.
type landed struct{ assembled, payload ledger.Hash }

// undo has what a block changed.
type undo struct {
	taken           []ledger.Intent
	spent, creating []ledger.StateID
}

// New returns a contract in its first state, in which there is none. The block with number 0 is its own.
func New(c ledger.Contract, s ledger.Scheme) *Model {
	return &Model{contract: c, scheme: s, taken: map[ledger.Intent]landed{}, unspent: map[ledger.StateID]bool{}}
}

// Number implements ledger.View: it is that of the last block.
func (m *Model) Number() uint64 { return m.number }

// Block carries out the transactions of the next block in their order, and returns what became of each intent.
func (m *Model) Block(sent ...ledger.Sent) (facts []ledger.Fact) {
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
func (m *Model) Recreate(s ledger.StateID) {
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

func (m *Model) enter(by ledger.Account, e ledger.Entry) ledger.Fact {
	assembled := m.scheme.Assembled(m.contract, e.Attempt)
	fact := ledger.Fact{Intent: e.Intent, Payload: e.Payload, Assembled: assembled, Skipped: m.judge(by, e, assembled)}
	if fact.Skipped != ledger.Taken {
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

func (m *Model) take(in ledger.Intent, as landed) {
	m.taken[in] = as
	u := &m.undo[len(m.undo)-1]
	u.taken = append(u.taken, in)
}

// judge returns the first rule that the entry breaks.
func (m *Model) judge(by ledger.Account, e ledger.Entry, assembled ledger.Hash) ledger.Reason {
	_, repeated := m.taken[e.Intent]
	switch {
	case !e.WellFormed():
		return ledger.Malformed
	case !slices.Contains(m.contract.Members, e.Owner):
		return ledger.NotMember
	case repeated:
		return ledger.Repeated
	case m.number > e.Grant.ValidUntil:
		return ledger.Expired
	case !grants.Granted(m.contract, m.scheme, by, e, assembled):
		return ledger.NotGranted
	case !grants.Endorsed(m.contract, m.scheme, e.Endorsements, assembled):
		return ledger.NotEndorsed
	}
	for _, s := range slices.Concat(e.Inputs, e.Reads) {
		if !m.unspent[s] {
			return ledger.Missing
		}
	}
	return ledger.Taken
}

func (m *Model) cancel(c ledger.Cancellation) ledger.Fact {
	fact := ledger.Fact{Intent: c.Intent}
	_, repeated := m.taken[c.Intent]
	switch {
	case !slices.Contains(m.contract.Members, c.Owner):
		fact.Skipped = ledger.NotMember
	case repeated:
		fact.Skipped = ledger.Repeated
	case !m.scheme.Verify(c.Owner, m.scheme.Cancelled(m.contract, c.Intent), c.Signature):
		fact.Skipped = ledger.NotGranted
	default:
		m.take(c.Intent, landed{})
	}
	return fact
}

// Landed implements ledger.View.
func (m *Model) Landed(in ledger.Intent) (assembled, payload ledger.Hash, is bool) {
	as, is := m.taken[in]
	return as.assembled, as.payload, is
}

// Unspent implements ledger.View.
func (m *Model) Unspent(s ledger.StateID) bool { return m.unspent[s] }

// Read returns what the last block says of some intents and states, and of nothing else. It stays as it is.
func (m *Model) Read(intents []ledger.Intent, states []ledger.StateID) ledger.View {
	r := &Model{number: m.number, taken: map[ledger.Intent]landed{}, unspent: map[ledger.StateID]bool{}}
	for _, in := range intents {
		if as, is := m.taken[in]; is {
			r.taken[in] = as
		}
	}
	for _, id := range states {
		r.unspent[id] = m.unspent[id]
	}
	return r
}

// States returns all that are unspent, sorted.
func (m *Model) States() []ledger.StateID {
	return slices.SortedFunc(maps.Keys(m.unspent), ledger.StateID.Compare)
}
