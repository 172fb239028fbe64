// Package chain defines what conch needs of a blockchain to send transactions from an
// account and to learn what became of them.
//
// [Chain] is the contract. A driver implements it for one kind of chain behind one
// endpoint: chain/evm for Ethereum, chain/chaintest in memory. A driver keeps no queue,
// repeats no send and signs only what it is asked to sign. Its caller decides the rest:
//
//	drafts := []chain.Draft{{Account: account, Index: nonce, Call: call}}
//	prepared, err := c.Prepare(ctx, drafts) // signs; store the bytes before they are sent
//	outcomes := c.Submit(ctx, []chain.Signed{prepared[0].Signed})
//	for turn, err := range c.Heads(ctx, last) { // blocks that come, go and become final
//		sent, err := c.Inclusions(ctx, turn.Block, []chain.Account{account})
//	}
//
// The other types are its words. A driver of another chain implements Chain with them, and chaintest.Exercise tests it.
//
// Around a driver: package endpoints makes one Chain of several endpoints, of which none is believed alone; package feed
// shares one among the accounts of a process. chain/internal/ancestry has what the drivers here follow blocks with.
//
// # Terms
//
//   - Index is the nonce: the transactions of an account have 0, 1, 2, … without a gap.
//   - A slot is one nonce of one account. At most one transaction of a slot ever gets into
//     the chain, which refuses every other.
//   - An attempt is one signed transaction for a slot. The attempts of a slot have different hashes, and fees
//     that do not fall. On some chains it is outworn after a while.
//   - The head is the newest block of the best chain; it may be reverted. A final block
//     stays, unless the node that said so is killed or replaced.
//
// # Rules
//
// Each of these has lost somebody money:
//
//   - No answer is [Unknown], never a failure: the node may have the bytes.
//   - [IndexTooLow] means that a transaction of the slot is in the chain. It may be
//     another's, so look up the hashes.
//   - [Accepted] is no promise: a node's pool drops transactions silently.
//   - [Outworn] does not say that an attempt is dead: sign it anew for the same slot, and for no other.
//   - A node that was killed comes back with an older head, and so with lower nonces.
//   - Where accounts have lives, a lower nonce may also be that of a new life: ask which of both it is.
//
// Amounts and fees are in the chain's smallest unit. Errors wrap those of this package;
// ask with errors.Is. A Chain is safe for concurrent use.
//
// Sources: requirements S15, S19, S20, S23–S26; the Ethereum JSON-RPC specification;
// Substrate's author and chainHead interfaces.
package chain
