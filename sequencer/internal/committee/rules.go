package committee

import (
	"errors"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/ledger"
)

var rules = []world.Rule[Config]{
	{Name: "sequence-per-intent", Invariant: OnceLanded, In: Config{Seed: 4}, Why: "an intent keeps the sequence of its row for every attempt; with one for each attempt, two attempts of one intent land"},
	{Name: "lineage", Invariant: EveryIntentEnds, In: Config{Seed: 34}, Why: "a sequence begins with a number that is drawn at each start; otherwise a sequence that has landed is given to another intent, which never ends"},
	{Name: "ledger-kills", Invariant: ToldTheTruth, In: Config{Seed: 478}, Why: "only the ledger kills a grant; if a coordinator's word does, an intent is told reverted and lands"},
	{Name: "stored-first", Invariant: GrantStored, Why: "a grant is stored before it leaves; otherwise a node that starts again does not know what may still land"},
	{Name: "own-assembly", Invariant: OwnAttempt, In: Config{Seed: 18}, Why: "a grant is given for what this start has assembled; otherwise a coordinator chooses what its user pays"},
	{Name: "nudge", Invariant: EveryIntentEnds, In: Config{Seed: 5}, Why: "a node that waits for blocks and sees none asks for an empty one; otherwise a chain that makes blocks on demand stands still, and what is in it never becomes final"},
	{Name: failureKinds, Invariant: NoStarvation, In: Config{Seed: 3}, Why: "a conflict is no failure; otherwise an intent that waits for money is given up"},
	{Name: "signed-owner", Invariant: OnceLanded, Why: "endorsers sign owner and sequence; otherwise a member that copies a public entry lands it as its own, and its owner's intent lands again"},
	{Name: "derived-ids", Invariant: ToldTheTruth, In: Config{Seed: 13}, Why: "a state's name derives from the attempt that creates it; otherwise a state that was spent comes back, and a grant that counted as dead lands"},
	{Name: "cut", Invariant: InheritedFirst, In: Config{Seed: 3}, Why: "an answer to a handover ends dispatch; otherwise a grant that was on its way is dispatched after the answer, and the successor knows nothing of it"},
	{Name: "no-refusal", Invariant: NoStarvation, In: Config{Scene: "cut-link"}, Why: "a better coordinator is no reason to refuse work; otherwise one cut link starves a sender for as long as it lasts"},
	{Name: "named-range", Invariant: NoStarvation, In: Config{Scene: "heights"}, Why: "work is judged by the range that it names; judged by each node's own height, as document 002 has it, hardly anything is accepted where heights differ"},
	{Name: "beat-digest", Invariant: NoStarvation, In: Config{Scene: "lost-returns"}, Why: "a heartbeat says what the coordinator has, and what it lacks is asked for; otherwise what was given back by a message that got lost is waited for in vain"},
	{Name: "bounded-hold", Invariant: NoStarvation, In: Config{Scene: "stuck"}, Why: "a hold is bounded; otherwise what never lands holds up everything until its grant is over"},
	{Name: "exclusive-loser", Invariant: NoStarvation, In: Config{Scene: "contention"}, Why: "a sender that has lost a state has the next turn for itself; otherwise a slow one never gets it"},
	{Name: "left-when-idle", Invariant: NoStarvation, In: Config{Scene: "liar-accepted"}, Why: "a coordinator that dispatches nothing of what it was given is left after ten seconds; otherwise one that beats and does nothing keeps it until its range ends"},
	{Name: "proven-handover", Invariant: NoStarvation, In: Config{Scene: "liar-handover"}, Why: "what a member hands over counts when its owner's grant and its endorsements prove it; otherwise one made-up attempt for each state, at each turn of the range, stops a contract for as long as it locks them"},
	{Name: "set-aside", Invariant: NoStarvation, In: Config{Scene: "half-dead"}, Why: "a sender that does not answer is set aside; otherwise it is asked again and again, and what is built on its work is unwound each time"},
	{Name: "doomed", Invariant: NothingOnTheDead, In: Config{Scene: "few"}, Why: "nothing is built on what was handed over and cannot land any more; otherwise each block skips the head of a chain while its tail grows, for as long as users go on"},
}

// oddsOf are the odds with which a rule shows.
var oddsOf = map[string]odds{
	"ledger-kills": {reorganisation: 0.05, cancel: 0.5, stuck: 0.4, commit: 0.004, restore: 0.5},
	"derived-ids":  {reorganisation: 0.05, cancel: 0.5, stuck: 0.3, commit: 0.004},
}

// failureKinds is the rule that a conflict is no failure.
const failureKinds = "failure-kinds"

// rulesOf returns the rules of the run's contract. With failure-kinds left out they do not say that they lack a state.
func (r *run) rulesOf() domain.Rules {
	if r.broken == failureKinds {
		return unkind{}
	}
	return tokens{}
}

// unkind are rules whose conflicts look like failures.
type unkind struct{ tokens }

// Assemble implements domain.Rules.
func (u unkind) Assemble(call domain.Call, view domain.View) (domain.Draft, error) {
	d, err := u.tokens.Assemble(call, view)
	if errors.Is(err, domain.ErrConflict) {
		err = errors.New(err.Error())
	}
	return d, err
}

// schemeOf returns the scheme of the run's ledger, which a broken rule may spoil.
func (r *run) schemeOf() ledger.Scheme {
	if r.broken == "signed-owner" {
		return ownerless{}
	}
	return model.Fake{}
}

// ownerless is a scheme whose assembled hash covers neither owner nor sequence.
type ownerless struct{ model.Fake }

// Assembled implements ledger.Scheme.
func (s ownerless) Assembled(c ledger.Contract, a ledger.Attempt) ledger.Hash {
	a.Intent = ledger.Intent{}
	return s.Fake.Assembled(c, a)
}
