// Package evm is the chain.Chain for Ethereum and chains that speak its protocol. It
// drives one chain through one JSON-RPC endpoint, over HTTP or WebSocket.
//
//	key, err := evm.OpenKeystore("key.json", "password")
//	c, err := evm.New(evm.Config{URL: "http://127.0.0.1:8545", ChainID: 1, Signers: []evm.Signer{key}})
//	defer c.Close()
//	nonce, err := c.Next(ctx, key.Account())
//
// Amounts and fees are in wei. A [Chain] and every [Signer] are safe for concurrent use. The
// errors wrap those of package chain. New does not connect: an endpoint that is down is found
// by the calls that use it, and again when it is back.
//
// # Behaviour
//
//   - Calls are batched: a Submit of 500 attempts is one request, and each attempt has its own
//     verdict, from the node's error code and text.
//   - Fees are those of EIP-1559: the tip that the node suggests, and a price cap of twice the
//     base fee plus the tip.
//   - A block is final when the chain's tag "finalized" says so. Without that tag, or with
//     Config.Depth, it is final at a depth below the head.
//   - Heads polls. Over WebSocket a subscription makes it look earlier; what the subscription
//     reports is not used, since it misses blocks while it is down.
//
// # Limits
//
//   - Gas is estimated against the latest block. A call that needs the effect of a transaction
//     in the pool has to bring its own Gas.
//   - Next at chain.Final reads the state of an older block. A node that has pruned that state
//     answers with an error.
//
// # Reading order
//
// driver.go has the driver and what it knows of its chain. The line to the endpoint: endpoint.go, then line.go, transport.go
// and read.go; limits.go and batchsize.go say what it takes, and internal/budget lets through no more. Blocks: header.go,
// heads.go, links.go, finality.go. Transactions in them: inclusions.go, probe.go, receipts.go, scan.go, confirm.go. Signing:
// market.go, gas.go, prepare.go, and the signers. Sending: submit.go, then verdict.go, refusal.go and phrases.go, which read
// a node's words.
//
// # Secrets
//
// The URL may carry a secret, which appears in requests only: errors and prints show scheme and
// host. A [Signer] signs for one account and sends nothing. [Keystore] holds a decrypted key.
// [External] asks another process, and the driver refuses anything but the transaction that it
// asked for, signed by the account. [Remote] has a service sign the hash.
//
// Sources: requirements S15, S20, S23–S26; the Ethereum execution API; EIP-155, EIP-1559,
// EIP-2681, EIP-7825.
package evm
