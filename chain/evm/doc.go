// Package evm drives an EVM chain through one JSON-RPC endpoint, over HTTP or
// WebSocket. It is the chain.Chain for Ethereum and everything that talks like it.
//
// # What it does
//
//   - Calls travel in batches: a Submit of 500 is one request, and each attempt gets
//     its own verdict from the node's code and words (see verdict.go for whose words).
//   - Fees are those of EIP-1559: the node's suggestion for the tip, twice the base fee
//     and the tip for the whole price.
//   - A block is final when the chain's tag "finalized" says so; where it has no such
//     tag, or where Config.Depth asks for it, at a depth.
//   - Heads polls; over WebSocket a subscription wakes it earlier. What a subscription
//     says is never taken for the truth: it may miss what happened while it was down.
//
// # What the caller must know
//
//   - An estimate of gas is made against the latest block. A call that needs the effects
//     of one still in the pool has to bring its own Gas.
//   - Next at chain.Final asks for the state of an older block. A node that has pruned
//     it answers with an error, not with a newer number.
//   - The URL may carry a secret, as those of providers do: it appears nowhere but in
//     the requests. Errors name scheme and host.
//
// # Keys
//
// A [Signer] signs for one account and sends nothing. A [Keystore] holds a decrypted
// key; [External] asks a signer process, and refuses what it gives back if it is
// anything but the transaction asked for, signed by the account.
//
// Sources: requirements S15, S20, S23–S26; the Ethereum execution API; EIP-155,
// EIP-1559, EIP-2681, EIP-7825.
package evm
