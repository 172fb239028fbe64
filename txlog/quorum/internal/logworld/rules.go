package logworld

import "github.com/conchhq/conch/internal/world"

// The rules that this world itself leaves out.
const (
	syncFirst        = "sync-first"
	newDiskNewMember = "new-disk-new-member"
	committedOnly    = "committed-only"
	keepEarly        = "keep-early"
	neverSkip        = "never-skip"
	hold             = "hold"
)

var rules = []world.Rule[Config]{
	{Name: "opening", Invariant: AllAnswered, In: Config{Scene: "crash-committed"}, Why: "a leader executes only after an entry of its own term is applied; otherwise it executes on what may be old, and what it makes fits nobody"},
	{Name: "no-forward", Invariant: InOrder, In: Config{Scene: "paused", Seed: 2}, Why: "what is appended to a member that no longer leads is dropped; the library's default passes it on, it comes into the log behind other entries, and nobody can take it"},
	{Name: "drop-speculation", Invariant: RightResult, In: Config{Scene: "back-and-forth"}, Why: "what was executed in an old term is never proposed in a new one; otherwise it is what came of a goal on a state that is gone"},
	{Name: "dedupe-in-flight", Invariant: NeverFailed, In: Config{Scene: "duplicates"}, Why: "a goal's id is looked up among entries in flight too; otherwise one that comes twice is executed twice, or its asker is told that it is not executed"},
	{Name: "look-before-storing", Invariant: RightResult, In: Config{Scene: "flipped-leader"}, Why: "a member applies what a leader sends before it stores it, and refuses a wrong state; otherwise a leader whose memory is wrong spoils all copies"},
	{Name: committedOnly, Invariant: NeverAhead, In: Config{Scene: "eager-leader"}, Why: "followers apply only what a head covers; what a leader sends may never commit"},
	{Name: newDiskNewMember, Invariant: AckedKept, In: Config{Scene: "lost-disk-behind"}, Why: "a store has an id, and an empty or damaged one never votes under the old one; otherwise a majority forgets what it has promised"},
	{Name: syncFirst, Invariant: AckedKept, In: Config{Scene: "power", Seed: 2}, Why: "nothing is sent or acknowledged before it is synced; otherwise a power cut takes away what was acknowledged"},
	{Name: keepEarly, Invariant: AllEqual, In: Config{Scene: "v2-early", Seed: 2}, Why: "a follower keeps what comes before its turn, and applies it then; otherwise it has to ask for the same again"},
	{Name: "deny-lies", Invariant: LiesDenied, In: Config{Scene: "liar"}, Why: "a head that says more than the log has counts no more; otherwise one member that lies, or a thief of its key, has all nodes seem to be behind for good"},
	{Name: "ask-to-deny", Invariant: HonestTrusted, In: Config{Scene: "lost-disk-behind"}, Why: "a head is a lie by what the leader confirms after it was heard; otherwise a node that is behind takes an honest member for a liar"},
	{Name: neverSkip, Invariant: NeverFailed, In: Config{Scene: "long-cut"}, Why: "no timeout ends a goal or an entry; otherwise a goal that is told to have failed is in the log all the same"},
	{Name: hold, Invariant: OneDoor, In: Config{Scene: "cut-leader"}, Why: "a new leader's act door opens a lease after its term began; otherwise two doors are open after a partition"},
}
