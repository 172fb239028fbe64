package chaintest

import (
	"context"
	"fmt"

	"github.com/conchhq/conch/chain"
)

// What makes a transaction worthless on a chain with an era: its time is over, its birth is on another branch, the chain's
// runtime has changed, or the node has banned it. Only a block of the branch in which all fits includes it.

// Upgrade makes the next block change the version of the chain's runtime, on its branch: what was signed for another one is
// worthless after it.
func (n *Node) Upgrade(version string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.upgrade = version
}

// Ban makes the node refuse these bytes from now on, as one does for a while with what was in a block that it has seen
// reverted.
func (n *Node) Ban(h chain.Hash) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if signed, had := n.pool.remove(h); had {
		n.lost = append(n.lost, signed)
	}
	n.banned[h] = true
}

// mostLag is how far below the head a transaction is born at most, if nothing becomes final.
const mostLag = 32

// briefEra is the era of what is asked for as brief.
const briefEra = 4

// bear gives a transaction its time and its version: it is born in the final block, or a part of its era below the head. The
// lock is held.
func (n *Node) bear(tx *transaction, brief bool) {
	tx.Version = n.head().version
	if n.cfg.Era == 0 {
		return
	}
	if tx.Era = n.cfg.Era; brief {
		tx.Era = min(briefEra, tx.Era)
	}
	head := n.head().Number
	tx.Birth = max(uint64(n.final), head-min(head, mostLag, tx.Era/4))
	tx.Born = []byte(n.best[tx.Birth].Hash)
}

// until returns the last height that takes a transaction; 0: there is none.
func (tx transaction) until() uint64 {
	if tx.Era == 0 {
		return 0
	}
	return tx.Birth + tx.Era - 1
}

// outworn returns why no block on the head takes a transaction, as far as its bytes alone say; empty if one does. The lock is
// held.
func (n *Node) outworn(tx transaction) string {
	next := n.head().Number + 1
	switch {
	case tx.Version != n.head().version:
		return fmt.Sprintf("bad proof: it was signed for version %q, and the chain has %q", tx.Version, n.head().version)
	case tx.Era == 0:
		return ""
	case next > tx.until():
		return fmt.Sprintf("ancient birth block: it was good until block %d", tx.until())
	case tx.Birth >= next || n.best[tx.Birth].Hash != chain.Hash(tx.Born):
		return fmt.Sprintf("bad proof: its birth is not block %d", tx.Birth)
	}
	return ""
}

// Version implements chain.Chain.
func (l *Line) Version(ctx context.Context, of chain.Block) (version string, err error) {
	fault := l.pass(ctx, "Version", func() {
		b, known := l.node.known[of.Hash]
		if !known {
			err = fmt.Errorf("%w: block %v", chain.ErrNotFound, of.Hash)
			return
		}
		version = b.version
	})
	if fault != nil {
		err = fault
	}
	return version, err
}
