package chaintest

import (
	"context"
	"math/big"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

// Config configures a Node. The zero Config is a small chain without limits or finality.
type Config struct {
	ID   string // default "test:1"
	Seed uint64 // of all chance
	// Depth is how many blocks below the head a block is final; 0: only Finalize says so.
	Depth uint64
	// StillAfter is that of the Description.
	StillAfter time.Duration
	// PerAccount limits an account's transactions in the pool; 0: no limit. At the limit only
	// a nonce below the account's highest is accepted, and the highest is dropped.
	PerAccount int
	// Pool limits the pool, which accepts more and silently drops it; 0: no limit.
	Pool int
	// Keeps is for how many blocks the node knows what a transaction has done in one; 0: for ever.
	Keeps uint64
	// NoIndex is that of the Description: Probe says that it cannot.
	NoIndex bool
	// Era is that of the Description: signed attempts wear out, with time and with each Upgrade; 0: they do not.
	Era uint64
	// Lives is that of the Description: Reap ends an account, and Fund lets it begin anew.
	Lives           bool
	BlockGas        uint64 // default 30 million
	BaseFee, MinTip int64  // default 100 and 1
}

// Node is a chain and the node that serves it. Its methods are safe for concurrent use.
type Node struct {
	cfg Config

	mu      sync.Mutex
	rand    *rand.Rand
	keys    map[chain.Account]bool
	faucet  map[chain.Account]*big.Int // what each account was given, on every branch
	known   map[chain.Hash]*block      // blocks of all branches
	best    []*block
	mined   map[chain.Hash]*block // the block of each transaction of the best chain
	texts   map[string]included   // transactions by their bytes
	final   int                   // height of the final block
	pool    *pool
	lost    []chain.Signed // dropped from the pool, for Resurrect
	banned  map[chain.Hash]bool
	upgrade string        // the version that the next block brings; empty: none
	reap    chain.Account // ceases to exist in the next block; empty: none does
	forgot  uint64        // what was done in blocks below this height the node does not know any more
	baseFee *big.Int
	blocks  uint64        // number of blocks ever made, which makes their hashes differ
	changed chan struct{} // closed and replaced at every change
}

// New makes a node whose chain has one block.
func New(cfg Config) *Node {
	if cfg.ID == "" {
		cfg.ID = "test:1"
	}
	if cfg.BlockGas == 0 {
		cfg.BlockGas = 30_000_000
	}
	if cfg.BaseFee == 0 {
		cfg.BaseFee = 100
	}
	if cfg.MinTip == 0 {
		cfg.MinTip = 1
	}
	n := &Node{
		cfg: cfg, rand: rand.New(rand.NewPCG(cfg.Seed, 1)), keys: map[chain.Account]bool{},
		faucet: map[chain.Account]*big.Int{}, known: map[chain.Hash]*block{}, mined: map[chain.Hash]*block{}, texts: map[string]included{},
		banned: map[chain.Hash]bool{}, baseFee: big.NewInt(cfg.BaseFee), changed: make(chan struct{}),
	}
	n.pool = newPool(n)
	genesis := &block{Block: chain.Block{Hash: hashOf([]byte(cfg.ID))}, states: map[chain.Account]state{}}
	if cfg.Era > 0 {
		genesis.version = "1"
	}
	n.known[genesis.Hash] = genesis
	n.best = []*block{genesis}
	return n
}

// Account makes an account with a balance in the smallest unit. Every line signs for it.
func (n *Node) Account(name string, funds int64) chain.Account {
	a := Address(name)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keys[a] = true
	n.fund(a, funds)
	return a
}

// Fund adds to an account's balance, at once and on every branch.
func (n *Node) Fund(a chain.Account, funds int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fund(a, funds)
}

func (n *Node) fund(a chain.Account, funds int64) {
	had := n.faucet[a]
	if had == nil {
		had = new(big.Int)
	}
	n.faucet[a] = new(big.Int).Add(had, big.NewInt(funds))
}

// Address returns the account of a name. Lines sign for it only after Node.Account.
func Address(name string) chain.Account { return chain.Account(hashOf([]byte(name))[:20]) }

// Line makes an endpoint of the node.
func (n *Node) Line() *Line {
	n.mu.Lock()
	defer n.mu.Unlock()
	return &Line{
		node: n, rand: rand.New(rand.NewPCG(n.rand.Uint64(), 2)),
		memory: ancestry.NewMemory(remembered), turned: make(chan struct{}),
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

// Mine makes a block of the transactions in the pool that can be executed.
func (n *Node) Mine() chain.Block {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.extend(n.pool.ready())
	n.settle(nil)
	return b
}

// Seal makes a block of exactly these transactions. It panics if one cannot be executed.
func (n *Node) Seal(txs ...chain.Signed) chain.Block {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.extend(txs)
	n.settle(nil)
	return b
}

// Reorg replaces the newest depth blocks by blocks of exactly the given transactions. Those
// of the old blocks return to the pool if it takes them.
func (n *Node) Reorg(depth int, blocks ...[]chain.Signed) {
	n.mu.Lock()
	defer n.mu.Unlock()
	undone := n.rewind(depth)
	for _, txs := range blocks {
		n.extend(txs)
	}
	n.settle(undone)
}

// Restart kills the node and starts it again. The newest rewind blocks and the pool are gone.
func (n *Node) Restart(rewind int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, b := range n.rewind(rewind) {
		delete(n.known, b.Hash)
	}
	n.lost = append(n.lost, n.pool.clear()...)
	n.settle(nil)
}

// Sent returns how many transactions of an account the chain has.
func (n *Node) Sent(a chain.Account) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.head().states[a].next
}

// Finalize makes the present head final.
func (n *Node) Finalize() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.final = len(n.best) - 1
	n.change()
}

// Forget makes the node forget what was done in all blocks up to the head, as one that keeps few states does.
func (n *Node) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forgot = n.head().Number + 1
}

// SetBaseFee sets the base fee from the next block on.
func (n *Node) SetBaseFee(fee int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.baseFee = big.NewInt(fee)
	n.change()
}

// Drop silently removes transactions from the pool, or all if none is named.
func (n *Node) Drop(hashes ...chain.Hash) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(hashes) == 0 {
		n.lost = append(n.lost, n.pool.clear()...)
	}
	for _, h := range hashes {
		if signed, had := n.pool.remove(h); had {
			n.lost = append(n.lost, signed)
		}
	}
}

// Resurrect offers all dropped transactions to the pool again, as a node's journal does.
func (n *Node) Resurrect() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.lost {
		n.pool.add(s.Bytes)
	}
	n.lost = nil
}

// Foreign signs a transaction for a slot of an account, and sends it to no line.
func (n *Node) Foreign(a chain.Account, index uint64) chain.Signed {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.foreign(n.cfg.ID, a, index)
}

// Elsewhere is Foreign for another chain, which this node refuses.
func (n *Node) Elsewhere(a chain.Account, index uint64) chain.Signed {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.foreign("test:elsewhere", a, index)
}

func (n *Node) foreign(id string, a chain.Account, index uint64) chain.Signed {
	price := new(big.Int).Add(n.baseFee, big.NewInt(n.cfg.MinTip))
	tx := transaction{
		Chain: id, From: []byte(a), Index: index, To: []byte("foreign"), Value: new(big.Int),
		Data: []byte("foreign"), Gas: gasNeeded([]byte("foreign")), Max: price.Mul(price, big.NewInt(2)), Tip: big.NewInt(n.cfg.MinTip),
	}
	n.bear(&tx, false)
	return n.sign(tx)
}
