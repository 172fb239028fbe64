package sender

import (
	"cmp"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Passage is one step of an intent's way, for the story that its user can read. Nothing depends on it.
type Passage struct {
	Sequence  ledger.Sequence
	From, To  State
	Event     string         // what happened, as the state diagram names it
	With      ledger.Account // its coordinator after that, else the one before; empty if there was none
	Assembled ledger.Hash    // the attempt that it is about, or zero
	Endorsers []int          // of a dispatch: the places of the members that have endorsed the attempt, by the coordinator's word
	Block     uint64         // that has it, or in which it was judged; else 0
	Why       string         // what it waits for, or why it is given up
}

// complete adds what is known after the step.
func (p *Passage) complete(it *intent) {
	p.To, p.Why = it.state, cmp.Or(it.giveUp, it.why)
	if it.with != nil {
		p.With = it.with.account
	}
	if p.Assembled == (ledger.Hash{}) && it.attempt != nil {
		p.Assembled = it.attempt.assembled
	}
	if it.state == Confirmed || it.state == Reverted {
		p.Assembled, p.Block, p.Why = it.result.Assembled, it.result.Block, it.result.Why
	}
}
