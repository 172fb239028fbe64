package committee

import (
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/ledger/ledgertest"
	"github.com/conchhq/conch/sequencer/sender"
)

// rule is a rule of the design that a run can leave out, and the world in which that shows.
type rule struct {
	sim.RuleInfo
	sender      sender.Rule      // the sender leaves it out
	coordinator coordinator.Rule // the coordinator does
	scene       string           // in which it shows; empty: with every fault
	odds        odds             // with which it shows
	seed        uint64           // with which it has shown
}

// Rules lists the rules that can be broken.
func Rules() []sim.RuleInfo {
	var all []sim.RuleInfo
	for _, r := range rules {
		all = append(all, r.RuleInfo)
	}
	return all
}

func findRule(name string) *rule {
	for i := range rules {
		if rules[i].Name == name {
			return &rules[i]
		}
	}
	return nil
}

var rules = []rule{
	inSender(sender.SequencePerIntent, OnceLanded,
		"an intent keeps the sequence of its row for every attempt; with one for each attempt, two attempts of one intent land"),
	inSender(sender.LineagePerStart, EveryIntentEnds,
		"a sequence begins with a number that is drawn at each start; otherwise a sequence that has landed is given to another intent, which never ends").from(2),
	inSender(sender.LedgerKills, ToldTheTruth,
		"only the ledger kills a grant; if a coordinator's word does, an intent is told reverted and lands").with(odds{reorganisation: 0.05, cancel: 0.5, stuck: 0.4, commit: 0.004, restore: 0.5}).from(233),
	inSender(sender.StoredFirst, GrantStored,
		"a grant is stored before it leaves; otherwise a node that starts again does not know what may still land"),
	inSender(sender.OwnAssembly, OwnAttempt,
		"a grant is given for what this start has assembled; otherwise a coordinator chooses what its user pays").from(24),
	inSender(sender.NudgeTheChain, EveryIntentEnds,
		"a node that waits for blocks and sees none asks for an empty one; otherwise a chain that makes blocks on demand stands still, and what is in it never becomes final").from(5),
	inSender(sender.FailuresHaveKinds, NoStarvation,
		"a conflict is no failure; otherwise an intent that waits for money is given up"),
	{RuleInfo: sim.RuleInfo{Name: "signed-owner", Invariant: OnceLanded, Why: "endorsers sign owner and sequence; otherwise a member that copies a public entry lands it as its own, and its owner's intent lands again"}},
	{RuleInfo: sim.RuleInfo{Name: "derived-ids", Invariant: ToldTheTruth, Why: "a state's name derives from the attempt that creates it; otherwise a state that was spent comes back, and a grant that counted as dead lands"}, odds: odds{reorganisation: 0.05, cancel: 0.5, stuck: 0.3, commit: 0.004}, seed: 67},
	inCoordinator(coordinator.Cut, InheritedFirst, "an answer to a handover ends dispatch; otherwise a grant that was on its way is dispatched after the answer, and the successor knows nothing of it").from(7),
	inCoordinator(coordinator.NoRefusal, NoStarvation, "a better coordinator is no reason to refuse work; otherwise one cut link starves a sender for as long as it lasts").in("cut-link"),
	{RuleInfo: sim.RuleInfo{Name: "named-range", Invariant: NoStarvation, Why: "work is judged by the range that it names; judged by each node's own height, as document 002 has it, hardly anything is accepted where heights differ"}, scene: "heights"},
	{RuleInfo: sim.RuleInfo{Name: "beat-digest", Invariant: NoStarvation, Why: "a heartbeat says what the coordinator has, and what it lacks is asked for; otherwise what was given back by a message that got lost is waited for in vain"}, scene: "lost-returns"},
	inCoordinator(coordinator.BoundedHold, NoStarvation, "a hold is bounded; otherwise what never lands holds up everything until its grant is over").in("stuck"),
	inCoordinator(coordinator.ExclusiveLoser, NoStarvation, "a sender that has lost a state has the next turn for itself; otherwise a slow one never gets it").in("contention"),
	{RuleInfo: sim.RuleInfo{Name: "proven-handover", Invariant: NoStarvation, Why: "what a member hands over counts when its owner's grant and its endorsements prove it; otherwise one made-up attempt for each state, at each turn of the range, stops a contract for as long as it locks them"}, scene: "liar-handover"},
	inCoordinator(coordinator.SetAside, NoStarvation, "a sender that does not answer is set aside; otherwise it is asked again and again, and what is built on its work is unwound each time").in("half-dead"),
	inCoordinator(coordinator.Doomed, NothingOnTheDead, "nothing is built on what was handed over and cannot land any more; otherwise each block skips the head of a chain while its tail grows, for as long as users go on").in("few"),
}

// with names the odds with which a rule shows.
func (r rule) with(o odds) rule {
	r.odds = o
	return r
}

// from names a seed with which a rule has shown.
func (r rule) from(seed uint64) rule {
	r.seed = seed
	return r
}

// in names the world in which a rule shows.
func (r rule) in(scene string) rule {
	r.scene = scene
	return r
}

func inSender(broken sender.Rule, invariant, why string) rule {
	return rule{RuleInfo: sim.RuleInfo{Name: broken.String(), Invariant: invariant, Why: why}, sender: broken}
}

func inCoordinator(broken coordinator.Rule, invariant, why string) rule {
	return rule{RuleInfo: sim.RuleInfo{Name: string(broken), Invariant: invariant, Why: why}, coordinator: broken}
}

// schemeOf returns the scheme of the run's ledger, which a broken rule may spoil.
func (r *run) schemeOf() ledger.Scheme {
	if r.broken == "signed-owner" {
		return ownerless{}
	}
	return ledgertest.Fake{}
}

// ownerless is a scheme whose assembled hash covers neither owner nor sequence.
type ownerless struct{ ledgertest.Fake }

// Assembled implements ledger.Scheme.
func (s ownerless) Assembled(c ledger.Contract, a ledger.Attempt) ledger.Hash {
	a.Intent = ledger.Intent{}
	return s.Fake.Assembled(c, a)
}

// Shows returns a seed with which a broken rule has shown.
func Shows(name string) uint64 {
	if r := findRule(name); r != nil {
		return max(r.seed, 1)
	}
	return 1
}
