// Package ledger has the rules of the base ledger, which alone make a shared contract safe, and the words for what is
// put before it.
//
// Members of a contract spend its states together. One node coordinates, and several may believe that they do; none of
// them is trusted. What they agree on becomes true when the ledger takes it, and the ledger takes it only if every rule
// here holds.
//
// # What is put before it
//
// An [Attempt] is one way to carry out an intent: states that go, states that have to be there, states that come. Its
// owner is the node that accepted the intent. Members endorse the attempt by signing its hash. The owner grants it to
// one coordinator, until a block: a [Grant] is the owner's word that this attempt may land. An [Entry] has all three.
//
// # Rules
//
//   - An intent keeps one (owner, sequence) for every attempt, and the ledger takes it once. That is "at most once", and
//     nothing else is.
//   - The owner is a member, and its grant names the account that sends the entry: a copied grant is worthless.
//   - Endorsers sign the assembled hash, which has the owner and the sequence in it: an endorsement cannot be moved to
//     another intent. A new grant needs no new endorsement.
//   - A state's name is derived from the assembled hash that created it. That lands once, so no state comes back once
//     it was spent.
//   - What fails one rule is skipped, with a reason, and the others of its batch go on. Skipped is not dead.
//
// # Who has one
//
// Package sequencer/evm has the ledger as a contract on Ethereum and similar chains. Package sequencertest has a chain in memory. The
// same cases judge both (internal/ledgertest). A node ends a grant by what it reads in one final block ([View]), and by nothing that
// members say (internal/grants).
//
// Sources: document 002; requirements P43, I1, I6.
package ledger
