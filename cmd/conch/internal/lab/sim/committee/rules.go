package committee

import (
	"errors"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/ledger/ledgertest"
)

// rule is a rule of the design that a run can leave out, and the world in which that shows.
type rule struct {
	sim.RuleInfo
	scene string // in which it shows; empty: with every fault
	odds  odds   // with which it shows
	seed  uint64 // with which it has shown
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
	info("sequence-per-intent", OnceLanded,
		"an intent keeps the sequence of its row for every attempt; with one for each attempt, two attempts of one intent land"),
	info("lineage", EveryIntentEnds,
		"a sequence begins with a number that is drawn at each start; otherwise a sequence that has landed is given to another intent, which never ends").from(2),
	info("ledger-kills", ToldTheTruth,
		"only the ledger kills a grant; if a coordinator's word does, an intent is told reverted and lands").with(odds{reorganisation: 0.05, cancel: 0.5, stuck: 0.4, commit: 0.004, restore: 0.5}).from(233),
	info("stored-first", GrantStored,
		"a grant is stored before it leaves; otherwise a node that starts again does not know what may still land"),
	info("own-assembly", OwnAttempt,
		"a grant is given for what this start has assembled; otherwise a coordinator chooses what its user pays").from(24),
	info("nudge", EveryIntentEnds,
		"a node that waits for blocks and sees none asks for an empty one; otherwise a chain that makes blocks on demand stands still, and what is in it never becomes final").from(5),
	info(failureKinds, NoStarvation,
		"a conflict is no failure; otherwise an intent that waits for money is given up"),
	info("signed-owner", OnceLanded, "endorsers sign owner and sequence; otherwise a member that copies a public entry lands it as its own, and its owner's intent lands again"),
	info("derived-ids", ToldTheTruth, "a state's name derives from the attempt that creates it; otherwise a state that was spent comes back, and a grant that counted as dead lands").with(odds{reorganisation: 0.05, cancel: 0.5, stuck: 0.3, commit: 0.004}).from(67),
	info("cut", InheritedFirst, "an answer to a handover ends dispatch; otherwise a grant that was on its way is dispatched after the answer, and the successor knows nothing of it").from(7),
	info("no-refusal", NoStarvation, "a better coordinator is no reason to refuse work; otherwise one cut link starves a sender for as long as it lasts").in("cut-link"),
	info("named-range", NoStarvation, "work is judged by the range that it names; judged by each node's own height, as document 002 has it, hardly anything is accepted where heights differ").in("heights"),
	info("beat-digest", NoStarvation, "a heartbeat says what the coordinator has, and what it lacks is asked for; otherwise what was given back by a message that got lost is waited for in vain").in("lost-returns"),
	info("bounded-hold", NoStarvation, "a hold is bounded; otherwise what never lands holds up everything until its grant is over").in("stuck"),
	info("exclusive-loser", NoStarvation, "a sender that has lost a state has the next turn for itself; otherwise a slow one never gets it").in("contention"),
	info("proven-handover", NoStarvation, "what a member hands over counts when its owner's grant and its endorsements prove it; otherwise one made-up attempt for each state, at each turn of the range, stops a contract for as long as it locks them").in("liar-handover"),
	info("set-aside", NoStarvation, "a sender that does not answer is set aside; otherwise it is asked again and again, and what is built on its work is unwound each time").in("half-dead"),
	info("doomed", NothingOnTheDead, "nothing is built on what was handed over and cannot land any more; otherwise each block skips the head of a chain while its tail grows, for as long as users go on").in("few"),
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

func info(name, invariant, why string) rule {
	return rule{RuleInfo: sim.RuleInfo{Name: name, Invariant: invariant, Why: why}}
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
