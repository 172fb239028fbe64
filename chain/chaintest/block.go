package chaintest

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math/big"
	"slices"

	"github.com/conchhq/conch/chain"
)

type block struct {
	chain.Block
	txs     []included
	states  map[chain.Account]state // after the block
	version string                  // of the runtime in that state: what the next block takes was signed for it
	reaped  chain.Account           // ceases to exist after all of its transactions; empty: none does
}

type included struct {
	transaction
	signed chain.Signed
	effect chain.Effect
	price  *big.Int // of a unit of gas, once it is in a block
}

type state struct {
	next  uint64
	spent *big.Int // spent minus received, without what the faucet gave; nil is 0
}

func (n *Node) head() *block { return n.best[len(n.best)-1] }

// extend adds a block to the best chain.
func (n *Node) extend(txs []chain.Signed) chain.Block {
	parent := n.head()
	n.blocks++
	b := &block{states: maps.Clone(parent.states), version: cmp.Or(n.upgrade, parent.version)}
	n.upgrade = ""
	b.Number, b.Parent = parent.Number+1, parent.Hash
	b.Hash = hashOf([]byte(parent.Hash), binary.BigEndian.AppendUint64(nil, n.blocks))
	for _, signed := range txs {
		n.execute(b, signed)
	}
	n.reapIn(b)
	n.known[b.Hash] = b
	n.best = append(n.best, b)
	for _, tx := range b.txs {
		n.mined[tx.signed.Hash] = b
		if b.reaped == tx.account() {
			n.pool.remove(tx.signed.Hash) // its nonce does not count as used any more
		}
	}
	if depth := int(n.cfg.Depth); depth > 0 {
		n.final = max(n.final, len(n.best)-1-depth)
	}
	return b.Block
}

func (n *Node) execute(b *block, signed chain.Signed) {
	tx, ok := n.read(signed.Bytes)
	if !ok || tx.Chain != n.cfg.ID || n.outworn(tx.transaction) != "" || tx.Index != b.states[tx.account()].next {
		panic("chaintest: a block cannot include this transaction: " + string(signed.Bytes))
	}
	price := new(big.Int).Add(n.baseFee, tx.Tip)
	if price.Cmp(tx.Max) > 0 {
		price = tx.Max
	}
	tx.price = price
	spent := new(big.Int).Mul(price, new(big.Int).SetUint64(tx.needs()))
	if !tx.effect.Failed() {
		spent.Add(spent, tx.Value)
		to := b.states[chain.Account(tx.To)]
		b.states[chain.Account(tx.To)] = state{next: to.next, spent: new(big.Int).Sub(to.total(), tx.Value)}
	}
	from := b.states[tx.account()]
	b.states[tx.account()] = state{next: from.next + 1, spent: spent.Add(spent, from.total())}
	b.txs = append(b.txs, tx)
}

func (s state) total() *big.Int {
	if s.spent == nil {
		return new(big.Int)
	}
	return s.spent
}

// settle returns the transactions of undone blocks to the pool and prunes it.
func (n *Node) settle(undone []*block) {
	for _, b := range undone {
		for _, tx := range b.txs {
			n.pool.add(tx.signed.Bytes)
		}
	}
	n.pool.prune()
	n.change()
}

func (n *Node) change() {
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *Node) balance(a chain.Account, at *block) *big.Int {
	had := n.faucet[a]
	if had == nil {
		had = new(big.Int)
	}
	return new(big.Int).Sub(had, at.states[a].total())
}

// rewind removes the newest depth blocks from the best chain, final ones too.
func (n *Node) rewind(depth int) []*block {
	at := len(n.best) - depth
	undone := slices.Clone(n.best[at:])
	n.best = n.best[:at]
	n.final = min(n.final, at-1)
	for _, b := range undone {
		for _, tx := range b.txs {
			delete(n.mined, tx.signed.Hash)
		}
	}
	return undone
}
