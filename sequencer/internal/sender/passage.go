package sender

import (
	"cmp"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Passage is one step of an intent's way, for the story that its user can read. Nothing depends on it.
type Passage struct {
	Sequence  ledger.Sequence
	Key       string // its user's
	Stage     Stage  // that begins for its user; empty: none
	From, To  State
	Event     string         // what happened, as the state diagram names it
	With      ledger.Account // its coordinator after that, else the one before; empty if there was none
	Assembled ledger.Hash    // the attempt that it is about, or zero
	Endorsers []int          // of a dispatch: the places of the members that have endorsed the attempt, by the coordinator's word
	Block     uint64         // that has it, or in which it was judged; else 0
	Why       string         // what it waits for, or why it is given up
}

// Stage is what a user follows of an intent's way: less than its states, which are also about how nodes agree.
type Stage string

// The stages.
const (
	StageStored     Stage = "stored"     // the node owns it until it has ended
	StageDispatched Stage = "dispatched" // it was handed to the chain
	StageIncluded   Stage = "included"   // a block of the canonical chain has it
	StageSkipped    Stage = "skipped"    // a block has skipped its attempt, and there will be another one
	StageRewound    Stage = "rewound"    // its block is no longer in the canonical chain
	StageEnding     Stage = "ending"     // it is given up, and may still land
	StageConfirmed  Stage = "confirmed"
	StageReverted   Stage = "reverted"
)

// stageOf returns the stage that begins with an event. What was found twice has none: its user follows the first one.
func stageOf(e event, from, to State) Stage {
	switch {
	case from == to || e == foundTwice:
		return ""
	case e == rowStored:
		return StageStored
	case e >= skippedMissing && e <= skippedStray:
		return StageSkipped
	case e == rewound:
		return StageRewound
	}
	return map[State]Stage{
		Dispatched: StageDispatched, Included: StageIncluded, Ending: StageEnding, Confirmed: StageConfirmed, Reverted: StageReverted,
	}[to]
}

// complete adds what is known after the step.
func (p *Passage) complete(it *intent, e event) {
	p.To, p.Why, p.Stage = it.state, cmp.Or(it.giveUp, it.why), stageOf(e, p.From, it.state)
	if it.with != nil {
		p.With = it.with.account
	}
	if p.Assembled == (ledger.Hash{}) && it.attempt != nil {
		p.Assembled = it.attempt.Assembled
	}
	if it.state == Confirmed || it.state == Reverted {
		p.Assembled, p.Block, p.Why = it.result.Assembled, it.result.Block, it.result.Why
	}
}
