// Package chain says what conch needs of a blockchain in order to send
// transactions from an account on it, and to find out what became of them.
//
// A driver implements [Chain] for one kind of chain through one endpoint; the
// suite in chaintest says whether it does so rightly. Whoever uses a driver decides
// what to send and when: a driver keeps no queue, retries nothing and signs only
// what it is asked to sign.
//
// # Words
//
//   - An account sends; each of its transactions has an index, which the world of
//     EVM calls nonce: 0, 1, 2, … without a gap.
//   - A slot is one (account, index). At most one transaction of a slot ever gets
//     into the chain: the chain is the fence that refuses all others.
//   - An attempt is one signed transaction for a slot. A slot may see several, with
//     rising fees; they differ in their hash.
//   - The best block is what a node takes for the head now and may take back; a
//     finalized one is not taken back.
//
// # What may not be concluded
//
// These are the driver's duties towards its caller, and each has lost money somewhere:
//
//   - No answer is [Unknown], never a failure: the bytes may have arrived.
//   - "Index too low" says that some transaction of the slot is in the chain, maybe
//     ours and maybe not: look up the hashes.
//   - "Accepted" is not a promise: a node's pool drops transactions without a word.
//   - A node that was killed comes back with an older head; what it says of indices
//     is then older than what is known.
//
// Sources: requirements S15, S19, S20, S23–S26; the Ethereum JSON-RPC
// specification; Substrate's author and chainHead interfaces.
package chain
