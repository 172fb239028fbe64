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
// his own that marks intents as over, or states as unspent. So whoever has not sent the creation compares its transaction's
// data with Creation, once.
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
// of each is in the contract's events, which [Facts] reads. Nothing from the chain's endpoint panics, and what does not
// have the form of an answer is an error, never a fact.
//
// [Reader] reads intents and states in one block, by the block's hash. Which attempt of an intent landed is not in the
// contract's storage, where it would cost a slot for each intent: it is in the log, in which the search goes back to the
// contract's creation at most.
//
// Sources: document 002; requirements P43, I1, I6, Q1 to Q5, Q18; EIP-712, EIP-2098.
package evm
