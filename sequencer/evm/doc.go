// Package evm is the base ledger of a shared contract on Ethereum and chains that speak its protocol: a contract in
// Solidity, and what a node needs to read it and to write to it. The package evm of chain is the driver of the same
// chains.
//
// The contract is solidity/Ledger.sol, to be read first; the README beside it is its threat model. Its compiled form is in
// solidity/Ledger.json, and so in this package: nothing is compiled when conch runs.
//
// # A contract's life
//
// [Creation] makes the data of the transaction that creates a contract. Everybody who uses it declares the same
// ledger.Contract, and [Check] compares all of it with what is on the chain: the declaration, and the code byte by byte,
// with the values that its creation has put there. A contract that passes has no other rules than those of the source.
//
// What the check does not see is the storage at the beginning: somebody may have created the same code by a creation of
// his own that marks intents as over, or states as unspent. So a member that has not sent the creation compares its
// transaction's data with Creation, once.
//
// # Hashes and signatures
//
// [Scheme] hashes by EIP-712, so that a wallet or a remote signer shows what it signs, and verifies signatures of
// secp256k1. An account is an address: 20 bytes. A signature has 65 bytes, r, s and v, with the low s, and v 27 or 28,
// which is what wallets return.
//
// # What a block did
//
// [Calldata] is what a coordinator sends. A transaction may have succeeded and none of its entries landed: what became
// of each is in the contract's events, which [Ledger.Follow] tells. Nothing from the chain's endpoint panics, and what does not
// have the form of an answer is an error, never a fact.
//
// [Reader] reads intents and states in one block, by the block's hash. Which attempt of an intent landed is not in the
// contract's storage, where it would cost a slot for each intent: it is in the log, in which the search goes back to the
// contract's creation at most.
//
// # A node's ledger
//
// [Ledger] is the sequencer.Ledger of a node. It checks the contract when it is opened.
//
//	rpcs, err := rpc.Dial(url)
//	followed, err := driver.New(driver.Config{URL: url, ChainID: 1337, Depth: declared.Depth})
//	l, err := evm.Open(ctx, evm.Config{Contract: declared, Node: rpcs, Chain: followed, Self: account, Submitter: s})
//
// Follow goes by the links between blocks, as the driver shows them: what was told and has left the best chain is taken
// back first, also if nobody followed when it left. A rewind below a final block is [ledger.ErrDeep], and never told.
//
// A [Submitter] sends from the node's account, as package pending does: the key is the idempotency key of its intent. The
// limit of gas is computed, since no estimate knows of an entry that stands on one in flight. The transaction's own fate
// says nothing about its entries: only the events do. The ledger knows which calls carry which entries, after a start from the
// data of those that are under way. So an entry is in one call at a time, one whose call was given up is told
// (Ledger.Review), and a call that can only be skipped by now is withdrawn, unless its bytes may have left.
//
// What can go wrong, and what happens: an endpoint that is down, behind, or answers nonsense is an error, and the caller
// tries again, with another endpoint if there are several. Endpoints may be at different heights and on different
// branches: what belongs together is one request of several parts, which has to reach one machine, also behind one URL.
// An endpoint that leaves out events delays what a node hears: it does not make a live grant look dead, for which the
// contract's state is read. One that lies about that state is believed: use your own node.
//
// Sources: document 002; requirements P43, I1, I6, Q1 to Q5, Q18; EIP-712, EIP-2098.
package evm
