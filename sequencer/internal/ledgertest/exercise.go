// Package ledgertest is the conformance suite of base ledgers: the contract in memory and every real one have to decide
// each case alike.
package ledgertest

import (
	"testing"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Ledger is a contract on a chain that makes a block when it is told to.
type Ledger interface {
	ledger.View
	// Block carries transactions out in one block, in their order, and returns what became of each entry.
	Block(sent ...ledger.Sent) []ledger.Fact
}

// Member has an account and signs for it.
type Member struct {
	Account ledger.Account
	Sign    func(ledger.Hash) []byte
}

// Fixture is a new contract of some members, of which some are needed to endorse, and one account that is no member.
type Fixture struct {
	Contract ledger.Contract
	Scheme   ledger.Scheme
	Members  []Member
	Stranger Member
	Ledger   Ledger
}

// Open makes a new contract.
type Open func(t *testing.T, members, needed int) Fixture

// Exercise runs the suite.
func Exercise(t *testing.T, open Open) {
	t.Helper()
	for name, c := range map[string]struct {
		members, needed int
		run             func(*testing.T, *trial)
	}{
		"AStateIsPassedOn":             {3, 3, aStateIsPassedOn},
		"AnIntentLandsOnce":            {3, 1, anIntentLandsOnce},
		"NobodyCopiesAGrant":           {3, 1, nobodyCopiesAGrant},
		"NobodyTakesEndorsements":      {3, 1, nobodyTakesEndorsements},
		"AStrangerOwnsNothing":         {3, 1, aStrangerOwnsNothing},
		"StatesAreInOrder":             {3, 1, statesAreInOrder},
		"AGrantEnds":                   {3, 1, aGrantEnds},
		"TheOwnerGrants":               {3, 1, theOwnerGrants},
		"EnoughEndorse":                {4, 2, enoughEndorse},
		"StatesAreThere":               {3, 1, statesAreThere},
		"WhatIsSkippedHoldsNothingUp":  {3, 1, whatIsSkippedHoldsNothingUp},
		"CancelledForEver":             {3, 1, cancelledForEver},
		"NamesAreDerived":              {3, 1, namesAreDerived},
		"ANewGrantNeedsNoEndorsements": {3, 3, aNewGrantNeedsNoEndorsements},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.run(t, &trial{T: t, Fixture: open(t, c.members, c.needed)})
		})
	}
}

// trial makes entries that are in order, for a case to spoil.
type trial struct {
	*testing.T
	Fixture
	counter uint64
}

// attempt returns one of the first member's with the next sequence.
func (t *trial) attempt(outputs int, inputs ...ledger.StateID) ledger.Attempt {
	t.counter++
	a := ledger.Attempt{
		Intent:  ledger.Intent{Owner: t.Members[0].Account, Sequence: ledger.Sequence{Lineage: 7, Counter: t.counter}},
		Payload: ledger.Hash{1, byte(t.counter)}, Inputs: inputs, Data: []byte("data"),
	}
	for i := range outputs {
		a.Outputs = append(a.Outputs, ledger.Hash{2, byte(t.counter), byte(i)})
	}
	return a
}

// entry has an attempt endorsed by the first members and granted to the second one for a while.
func (t *trial) entry(a ledger.Attempt) ledger.Entry {
	e := ledger.Entry{Attempt: a}
	hash := t.Scheme.Assembled(t.Contract, a)
	for i := range t.Contract.Needed {
		e.Endorsements = append(e.Endorsements, ledger.Endorsement{Member: i, Signature: t.Members[i].Sign(hash)})
	}
	t.grant(&e, t.Members[0], ledger.Grant{Assembled: hash, Coordinator: t.Members[1].Account, Delegation: ledger.Hash{3}, ValidUntil: t.Ledger.Number() + 10})
	return e
}

func (t *trial) grant(e *ledger.Entry, by Member, g ledger.Grant) {
	e.Grant = g
	e.Grant.Signature = by.Sign(t.Scheme.Granted(t.Contract, g))
}

// states returns the names of an attempt's outputs.
func (t *trial) states(a ledger.Attempt) (all []ledger.StateID) {
	for i := range a.Outputs {
		all = append(all, t.Scheme.State(t.Scheme.Assembled(t.Contract, a), i))
	}
	return all
}

// block has the second member send entries in one block, and compares what became of each.
func (t *trial) block(want []ledger.Reason, entries ...ledger.Entry) {
	t.Helper()
	t.sent(want, ledger.Sent{By: t.Members[1].Account, Entries: entries})
}

func (t *trial) sent(want []ledger.Reason, sent ...ledger.Sent) {
	t.Helper()
	facts := t.Ledger.Block(sent...)
	if len(facts) != len(want) {
		t.Fatalf("got the facts %+v, want %d", facts, len(want))
	}
	for i, f := range facts {
		if f.Skipped != want[i] {
			t.Errorf("entry %d: %v, want %v", i, f.Skipped, want[i])
		}
	}
}

func (t *trial) takes(e ledger.Entry) {
	t.Helper()
	t.block([]ledger.Reason{ledger.Taken}, e)
}

// skips puts an entry before the ledger, which has to skip it and change nothing.
func (t *trial) skips(why ledger.Reason, e ledger.Entry) {
	t.Helper()
	_, _, before := t.Ledger.Landed(e.Intent)
	t.block([]ledger.Reason{why}, e)
	if _, _, after := t.Ledger.Landed(e.Intent); after != before {
		t.Errorf("skipped as %v, and the intent counts as landed: %v, before: %v", why, after, before)
	}
	for _, s := range t.states(e.Attempt) {
		if t.Ledger.Unspent(s) && why != ledger.Repeated {
			t.Errorf("skipped as %v, and its output %v is there", why, s)
		}
	}
}

// made has an attempt land that creates some states, and returns them sorted.
func (t *trial) made(outputs int) []ledger.StateID {
	t.Helper()
	a := t.attempt(outputs)
	t.takes(t.entry(a))
	return sorted(t.states(a)...)
}
