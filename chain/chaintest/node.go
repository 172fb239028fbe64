package chaintest

import (
	"context"
	"math/big"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
)

// Config makes a node. The zero Config is a chain like a developer's.
type Config struct {
	ID   string // "test:1" unless given
	Seed uint64
	// Depth is how many blocks below the head a block is final; 0: by Finalize alone.
	Depth uint64
	// PerAccount and Pool limit the pool; 0: no limit. What is above PerAccount is
	// refused, unless its index is below another's, which then is dropped; what is above
	// Pool is acknowledged and dropped, as real nodes do.
	PerAccount, Pool int
	BlockGas         uint64 // 30 million unless given
	BaseFee, MinTip  int64  // 100 and 1 unless given
}

// Node is a chain and the node that serves it. Safe for concurrent use.
type Node struct {
	cfg Config

	mu      sync.Mutex
	rand    *rand.Rand
	keys    map[chain.Account]bool
	faucet  map[chain.Account]*big.Int // what accounts begin with, on any branch
	known   map[chain.Hash]*block      // in the best chain or beside it
	best    []*block
	mined   map[chain.Hash]*block // transactions of the best chain
	final   int                   // the height that is final
	pool    *pool
	lost    []chain.Signed
	baseFee *big.Int
	blocks  uint64        // ever made: no two are equal
	changed chan struct{} // closed at every change
}

// New makes a chain of one block.
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
		faucet: map[chain.Account]*big.Int{}, known: map[chain.Hash]*block{}, mined: map[chain.Hash]*block{},
		baseFee: big.NewInt(cfg.BaseFee), changed: make(chan struct{}),
	}
	n.pool = newPool(n)
	genesis := &block{Block: chain.Block{Hash: hashOf([]byte(cfg.ID))}, states: map[chain.Account]state{}}
	n.known[genesis.Hash] = genesis
	n.best = []*block{genesis}
	return n
}

// Account makes an account that lines sign for, with that much to spend.
func (n *Node) Account(name string, funds int64) chain.Account {
	a := Address(name)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keys[a] = true
	n.fund(a, funds)
	return a
}

// Fund gives an account more, at once and on every branch.
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

// Address is the account of that name. Nobody signs for it unless Account was called.
func Address(name string) chain.Account { return chain.Account(hashOf([]byte(name))[:20]) }

// Line is an endpoint of the node.
func (n *Node) Line() *Line {
	n.mu.Lock()
	defer n.mu.Unlock()
	return &Line{
		node: n, rand: rand.New(rand.NewPCG(n.rand.Uint64(), 2)),
		memory: chain.NewMemory(remembered), turned: make(chan struct{}),
	}
}

// Run mines at every tick until ctx ends.
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

// Mine makes a block of what is in the pool and can be executed.
func (n *Node) Mine() chain.Block {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.extend(n.pool.ready())
	n.settle(nil)
	return b
}

// Seal makes a block of exactly these transactions, whether the pool has them or
// not; one that cannot be executed is a mistake of the test.
func (n *Node) Seal(txs ...chain.Signed) chain.Block {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.extend(txs)
	n.settle(nil)
	return b
}

// Reorg replaces the newest depth blocks by as many as are given, of exactly those
// transactions. What the old ones held goes back into the pool if it still fits.
func (n *Node) Reorg(depth int, blocks ...[]chain.Signed) {
	n.mu.Lock()
	defer n.mu.Unlock()
	undone := n.rewind(depth)
	for _, txs := range blocks {
		n.extend(txs)
	}
	n.settle(undone)
}

// Restart is a node killed and started again: its newest blocks, which it had not
// written, and its pool are gone. Resurrect gives back what was in the pool.
func (n *Node) Restart(rewind int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, b := range n.rewind(rewind) {
		delete(n.known, b.Hash)
	}
	n.lost = append(n.lost, n.pool.clear()...)
	n.settle(nil)
}

// Finalize makes the present head final.
func (n *Node) Finalize() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.final = len(n.best) - 1
	n.change()
}

// SetBaseFee changes what the chain asks from the next block on.
func (n *Node) SetBaseFee(fee int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.baseFee = big.NewInt(fee)
	n.change()
}

// Drop takes transactions out of the pool without a word; with none named, all.
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

// Resurrect puts everything that was ever dropped back into the pool, as a journal
// or another node does, if the pool takes it.
func (n *Node) Resurrect() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.lost {
		n.pool.add(s.Bytes)
	}
	n.lost = nil
}

// Foreign is a transaction for a slot of an account that nobody handed to a line: who
// else has the key signed it.
func (n *Node) Foreign(a chain.Account, index uint64) chain.Signed {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.foreign(n.cfg.ID, a, index)
}

// Elsewhere is the same on another chain, which is worthless here.
func (n *Node) Elsewhere(a chain.Account, index uint64) chain.Signed {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.foreign("test:elsewhere", a, index)
}

func (n *Node) foreign(id string, a chain.Account, index uint64) chain.Signed {
	price := new(big.Int).Add(n.baseFee, big.NewInt(n.cfg.MinTip))
	return transaction{
		Chain: id, From: []byte(a), Index: index, To: []byte("foreign"), Value: new(big.Int),
		Data: []byte("foreign"), Gas: gasNeeded([]byte("foreign")), Max: price.Mul(price, big.NewInt(2)), Tip: big.NewInt(n.cfg.MinTip),
	}.signed()
}
