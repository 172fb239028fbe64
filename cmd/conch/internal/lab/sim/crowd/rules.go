package crowd

import "github.com/conchhq/conch/internal/world"

// The rules that the world breaks: by a scheme to which every signature is right, and in what a node sends. Package patched
// breaks the others.
const (
	ownSignature = "own-signature"
	ageTravels   = "age-travels"
)

var rules = []world.Rule[Config]{
	{Name: ownSignature, Invariant: Agreement, In: Config{Scene: "forger"}, Why: "only its subject signs a heartbeat; otherwise a faulty relay refreshes a leader that is dead"},
	{Name: "no-wall-clock", Invariant: Agreement, In: Config{Scene: "crash"}, Why: "a heartbeat has a sequence and an age in rounds; with its subject's clock in it, a host whose clock is behind leads itself for ever, and one whose clock is ahead is never missed"},
	{Name: "first-copy", Invariant: Agreement, In: Config{Scene: "crash", Loss: 20, Stalls: true}, Why: "the first copy of a heartbeat fixes its age; if a younger copy counts, the time on the way leaks away, and a dead leader lives on"},
	{Name: ageTravels, Invariant: Agreement, In: Config{Scene: "electors-die", Electors: 7}, Why: "a relay says how old a heartbeat is; otherwise newcomers pass a dead leader's last word on to newcomers as if it were new"},
	{Name: "claim-is-said", Invariant: Agreement, In: Config{Scene: "withdrawn", Electors: 7}, Why: "a heartbeat says whether its subject leads; otherwise everybody follows a leader that has stepped down"},
	{Name: "listen-first", Invariant: NoNeedless, In: Config{Scene: "frozen", Electors: 7, Seed: 7}, Why: "a newcomer, and a node that was cut off, listens for three beats, and a node that hears nobody raises no reign; otherwise those that return depose the leader of all"},
	{Name: "elector-majority", Invariant: NoNeedless, In: Config{Scene: "minority", Electors: 7}, Why: "an elector raises a reign only while it hears a majority of them; otherwise a minority deposes the leader when the network heals"},
	{Name: "step-down", Invariant: Agreement, In: Config{Scene: "deaf"}, Why: "a leader that hears nobody, or whose user says that it cannot work, steps down; otherwise a deaf leader leads for ever"},
	{Name: "electors-only", Invariant: BadRefused, In: Config{Scene: "runaway", Electors: 7}, Why: "with electors the claim of anybody else counts for nothing; otherwise one faulty node with the largest reign leads everybody"},
	{Name: "among-electors", Invariant: NoNeedless, In: Config{Scene: "replay", Electors: 7}, Why: "an elector believes what the crowd brings of another one only if it has met that by way of electors since it started; otherwise a member that brings old words of a dead leader as if they were new deposes one that works"},
	{Name: "old-is-old", Invariant: Agreement, In: Config{Scene: "replay-nobody", Electors: 7}, Why: "the last word of an elector is remembered for as long as a node runs; otherwise the crowd believes old words of a dead leader while nobody leads"},
	{Name: "peer-cache", Invariant: OnePiece, In: Config{Scene: "half-crash", Seed: 3}, Why: "a node remembers sixteen peers that it has met, and keeps five neighbours; otherwise half a crash parts one cluster of 50 nodes in ten"},
}
