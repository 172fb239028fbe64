package substratetest

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"golang.org/x/crypto/blake2b"
)

// Mine makes a block of what is ready in the pool.
func (n *Node) Mine() Block {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.grow(n.pool.block()).seen()
}

// MineBlocks makes so many blocks.
func (n *Node) MineBlocks(count int) {
	for range count {
		n.Mine()
	}
}

// Run calls Mine at an interval until ctx ends.
func (n *Node) Run(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			n.Mine()
		}
	}
}

// Seal makes a block of exactly these extrinsics, as another node may that has them. It makes none, and says why, if one of them
// cannot be in it.
func (n *Node) Seal(raws ...[]byte) (Block, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b, err := n.exactly(raws)
	if err != nil {
		return Block{}, err
	}
	n.settle(nil, b)
	return b.seen(), nil
}

// Reorg replaces the newest depth blocks by blocks of exactly these extrinsics, on another branch. What was in the old ones comes
// back to the pool if it is still good. It panics if a final block would be undone.
func (n *Node) Reorg(depth int, blocks ...[][]byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	undone := n.undo(depth)
	var made []*block
	var failed error
	for _, raws := range blocks {
		b, err := n.exactly(raws)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		made = append(made, b)
	}
	n.settle(undone, made...)
	return failed
}

// exactly makes the next block of these extrinsics.
func (n *Node) exactly(raws [][]byte) (*block, error) {
	xs := make([]*extrinsic, len(raws))
	for i, raw := range raws {
		x, err := n.readExtrinsic(n.head().runtime, raw)
		if err != nil {
			return nil, fmt.Errorf("substratetest: extrinsic %d: %w", i, err)
		}
		xs[i] = x
	}
	todo := n.next
	b, refused := n.extend(xs)
	for i, x := range xs {
		if f := refused[x]; f != nil {
			n.best = n.best[:len(n.best)-1]
			delete(n.known, b.hash)
			n.next = todo
			return nil, fmt.Errorf("substratetest: no block can have extrinsic %d: %s", i, f)
		}
	}
	return b, nil
}

// String is for errors of a script.
func (f *fault) String() string {
	if f.unknown {
		return "its validity cannot be known"
	}
	return faultTexts[f.code]
}

// grow makes a block of what the pool gives.
func (n *Node) grow(xs []*extrinsic) *block {
	b, _ := n.extend(xs)
	n.settle(nil, b)
	return b
}

// settle tells everybody that the best chain has other blocks.
func (n *Node) settle(undone []*block, made ...*block) {
	for _, b := range undone {
		for _, x := range b.body {
			n.retract(x.hash, b)
		}
	}
	for _, b := range made {
		for _, x := range b.body {
			if one := n.pool.by[x.hash]; one != nil {
				n.pool.remove(one)
			}
			n.pool.ban(x.hash)
			n.included(x.hash, b)
		}
	}
	for _, b := range undone {
		for _, x := range b.body {
			if x.signed && !n.holds(x.hash, made) {
				n.again(x)
			}
		}
	}
	n.pool.settle()
	n.tellHeads(made)
	if !n.stalled && n.cfg.Finality > 0 && len(n.best) > int(n.cfg.Finality) {
		n.finalize(len(n.best) - 1 - int(n.cfg.Finality))
	}
}

func (n *Node) holds(hash [32]byte, blocks []*block) bool {
	for _, b := range blocks {
		for _, x := range b.body {
			if x.hash == hash {
				return true
			}
		}
	}
	return false
}

// again offers to the pool what was in a block that is undone.
func (n *Node) again(x *extrinsic) {
	fresh, err := n.readExtrinsic(n.head().runtime, x.raw)
	if err != nil || n.pool.by[x.hash] != nil || n.validate(fresh, n.head(), n.head().state) != nil {
		return
	}
	_ = n.pool.add(fresh) // what has taken its place pays more
}

// Finalize makes the head final, and those blocks below it that are not: subscribers hear of the head alone.
func (n *Node) Finalize() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.finalize(len(n.best) - 1)
}

// FinalizeAt makes the block of a height final.
func (n *Node) FinalizeAt(number uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.finalize(min(int(number), len(n.best)-1))
}

// Stall stops that blocks become final by themselves; Resume ends it, with the next block.
func (n *Node) Stall() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stalled = true
}

// Resume ends a Stall.
func (n *Node) Resume() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stalled = false
}

func (n *Node) finalize(height int) {
	if height <= n.final {
		return
	}
	for _, b := range n.best[n.final+1 : height+1] {
		for _, x := range b.body {
			n.status(x.hash, map[string]any{"finalized": hexed(b.hash[:])}, true)
		}
	}
	n.final = height
	for _, b := range n.known {
		dead := int(b.number) <= height && n.best[b.number] != b
		if dead || uint64(b.number)+uint64(n.cfg.Keeps) < uint64(height) {
			b.pruned = true
			b.state = nil
		}
	}
	n.tellFinal()
}

// Forget makes the node discard the states of all blocks below the head, as one does that keeps few: what their extrinsics have
// done cannot be read any more.
func (n *Node) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, b := range n.known {
		b.pruned = b.pruned || b != n.head()
	}
}

// Upgrade lets the next block bring a runtime: it is in that block's state, and counts from the block after it on. A Reorg that
// undoes the block undoes the upgrade.
func (n *Node) Upgrade(r Runtime) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next.upgrade = &r
}

// Authorize lets the next block authorize a runtime, which anybody then brings by System.apply_authorized_upgrade of its Code.
func (n *Node) Authorize(r Runtime) {
	n.mu.Lock()
	defer n.mu.Unlock()
	sum := blake2b.Sum256(r.Code())
	n.next.authorize = sum[:]
}

// Fund lets the next block give to an account, on its branch. One that does not exist begins to, with nonce 0, and needs the
// existential deposit for that.
func (n *Node) Fund(who string, amount *big.Int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(who) != n.cfg.accountSize() || amount.Sign() <= 0 || amount.BitLen() > 120 {
		panic(fmt.Sprintf("substratetest: no account %x can be given %v", who, amount))
	}
	n.next.fund = append(n.next.fund, funding{who, amount})
}

// Reap lets an account lose all that it has at the end of the next block, on its branch: it ceases to exist, and its nonce with it.
func (n *Node) Reap(who string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next.reap = append(n.next.reap, who)
}

// Ban makes the node throw these bytes out of its pool and refuse them for thirty minutes.
func (n *Node) Ban(hash [32]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if one := n.pool.by[hash]; one != nil {
		n.pool.throw(one, "invalid")
	}
	n.pool.ban(hash)
}

// Pass sets the clock of the pool forward: bans end.
func (n *Node) Pass(by time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.passed += by
}

// Drop removes transactions from the pool, or all if none is named, and tells nobody, as a node that is restarted does.
func (n *Node) Drop(hashes ...[32]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(hashes) == 0 {
		for hash := range n.pool.by {
			hashes = append(hashes, hash)
		}
	}
	for _, hash := range hashes {
		if one := n.pool.by[hash]; one != nil {
			n.pool.remove(one)
			n.pool.demote(one)
		}
	}
}
