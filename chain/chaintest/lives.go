package chaintest

import (
	"math/big"

	"github.com/conchhq/conch/chain"
)

// On a chain with lives an account ceases to exist once it has nothing left, and begins anew, with the nonce 0, when somebody funds it.

// Reap makes an account give all that it has away at the end of the next block, on its branch, and cease to exist. It panics if the chain
// has no lives.
func (n *Node) Reap(a chain.Account) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.cfg.Lives {
		panic("chaintest: on this chain no account ceases to exist")
	}
	n.reap = a
}

// reapIn ends the account that is to end, in a new block. The lock is held.
func (n *Node) reapIn(b *block) {
	if n.reap == "" {
		return
	}
	b.reaped, n.reap = n.reap, ""
	had := n.faucet[b.reaped]
	if had == nil {
		had = new(big.Int)
	}
	b.states[b.reaped] = state{spent: new(big.Int).Set(had)}
}
