package bulletin

import "github.com/conchhq/conch/cmd/conch/internal/lab/sim"

// rule is a rule of the design that a run can leave out, and the world in which that shows.
type rule struct {
	sim.RuleInfo
	scene string
	seed  uint64 // with which it has shown; 1 if 0
}

// The rules that this world itself leaves out.
const (
	syncFirst        = "sync-first"
	newDiskNewMember = "new-disk-new-member"
	committedOnly    = "committed-only"
	keepEarly        = "keep-early"
	neverSkip        = "never-skip"
	hold             = "hold"
)

var rules = []rule{
	info("opening", AllAnswered, "a leader executes only after an entry of its own term is applied; otherwise it executes on what may be old, and what it makes fits nobody", "crash-committed"),
	info("no-forward", InOrder, "what is appended to a member that no longer leads is dropped; the library's default passes it on, it comes into the log behind other entries, and nobody can take it", "paused").shown(2),
	info("drop-speculation", RightResult, "what was executed in an old term is never proposed in a new one; otherwise it is what came of a goal on a state that is gone", "back-and-forth"),
	info("dedupe-in-flight", NeverFailed, "a goal's id is looked up among entries in flight too; otherwise one that comes twice is executed twice, or its asker is told that it is not executed", "duplicates"),
	info("look-before-storing", RightResult, "a member applies what a leader sends before it stores it, and refuses a wrong state; otherwise a leader whose memory is wrong spoils all copies", "flipped-leader"),
	info(committedOnly, NeverAhead, "followers apply only what a head covers; what a leader sends may never commit", "eager-leader"),
	info(newDiskNewMember, AckedKept, "a store has an id, and an empty or damaged one never votes under the old one; otherwise a majority forgets what it has promised", "lost-disk-behind"),
	info(syncFirst, AckedKept, "nothing is sent or acknowledged before it is synced; otherwise a power cut takes away what was acknowledged", "power").shown(2),
	info(keepEarly, AllEqual, "a follower keeps what comes before its turn, and applies it then; otherwise it has to ask for the same again", "v2-early").shown(2),
	info("deny-lies", LiesDenied, "a head that says more than the log has counts no more; otherwise one member that lies, or a thief of its key, has all nodes seem to be behind for good", "liar"),
	info("ask-to-deny", HonestTrusted, "a head is a lie by what the leader confirms after it was heard; otherwise a node that is behind takes an honest member for a liar", "lost-disk-behind"),
	info(neverSkip, NeverFailed, "no timeout ends a goal or an entry; otherwise a goal that is told to have failed is in the log all the same", "long-cut"),
	info(hold, OneDoor, "a new leader's act door opens a lease after its term began; otherwise two doors are open after a partition", "cut-leader"),
}

func info(name, invariant, why, scene string) rule {
	return rule{RuleInfo: sim.RuleInfo{Name: name, Invariant: invariant, Why: why}, scene: scene}
}

// shown notes a seed, where few show it.
func (r rule) shown(seed uint64) rule {
	r.seed = seed
	return r
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

// Shows returns a seed with which a broken rule has shown.
func Shows(name string) uint64 {
	if r := findRule(name); r != nil {
		return max(r.seed, 1)
	}
	return 1
}
