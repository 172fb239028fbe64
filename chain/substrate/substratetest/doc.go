// Package substratetest has a Substrate chain in the test's process, and a node that serves it over JSON-RPC and WebSocket, for
// tests of code that reads and sends extrinsics.
//
//	node, err := substratetest.Start(substratetest.Config{Accounts: map[string]*big.Int{alice: big.NewInt(1e15)}})
//	defer node.Close()
//	use(node.URL())      // ws://127.0.0.1:…
//	node.Mine()          // a block of what is ready in the pool
//	node.Finalize()      // and final
//	node.Blocks()        // the witness: what has been carried out
//
// A test asks for blocks, or [Node.Run] makes them at an interval. Nothing happens by chance.
//
// # The chain
//
// Headers, their hashes, the roots of extrinsics and states are what Substrate makes of them. The runtime is small: System (remark,
// remark_with_event, apply_authorized_upgrade), Timestamp, Balances (transfer_allow_death, transfer_keep_alive, transfer_all) and
// Utility (batch, batch_all, force_batch), with their events below System.Events, its metadata of versions 14 and 15, the fees and
// the priorities of FRAME, and the extensions of today's relay chains. Signatures are verified: ed25519, sr25519, ecdsa, or with
// Config.Ethereum those of accounts of 20 bytes. The chain reads all bytes with code of its own, so that what a driver has built is
// not judged by the driver.
//
// What happens once is asked of the next block, and is on its branch alone:
//
//	node.Upgrade(substratetest.Runtime{Spec: 101, Transaction: 2, Moved: true})
//	node.Fund(bob, amount)
//	node.Reap(alice)     // ceases to exist, and begins anew with nonce 0 once it is funded
//	node.Mine()
//	node.Reorg(1, nil)   // another block in its place: there was no upgrade, no money, no reaping
//
// # The node
//
// The pool has a ready and a future queue. A transaction replaces another of its nonce if its priority is strictly higher (else
// 1014). Bytes that were in a block, were found to be not valid, or were thrown out for want of room are banned for thirty minutes
// (1012, [Node.Pass] sets the clock); known ones are 1013, those without room 1016. Streams say future, ready, broadcast, inBlock,
// retracted, usurped, dropped, invalid, finalityTimeout and finalized; subscribers to final heads hear of the newest alone. The states
// of blocks more than 256 below the final one are discarded.
//
// # Endpoints
//
// [Node.Endpoint] opens more addresses of one node, each an [Endpoint] with faults: behind by some blocks (Lag), a balancer before
// unequal nodes (Mix), false bodies (Lie), hanging subscriptions (Silence), closed connections (Cut, Down), lost answers (Lose), and
// errors that a test chooses (Answer).
//
// # Limits
//
// Weights are lengths, and a block has no other limit. There are no peers, no proofs of storage, no chainHead_v1, no extrinsics of
// version 5, and the account's reserves are always 0. The methods are those that rpc_methods lists.
//
// Sources: requirements S18, S25; the behaviour of polkadot-sdk's pool and of Chopsticks.
package substratetest
