package substratetest

import (
	"math/big"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/blake2b"
)

// Node is a chain and the node that serves it. Its methods are the script of a test; they are safe for concurrent use, and what
// one of them does is done when it returns.
type Node struct {
	cfg     Config
	deposit *big.Int

	mu        sync.Mutex
	genesis   *block
	known     map[[32]byte]*block // blocks of all branches
	best      []*block            // by height
	final     int                 // height of the final block
	stalled   bool
	made      uint64 // how many blocks there ever were, which makes their hashes differ
	next      script
	pool      *pool
	passed    time.Duration // how far Pass has set the clock
	tables    map[Runtime][]pallet
	watched   map[[32]byte]*watch
	endpoints []*Endpoint
	closed    bool
}

// Start makes a chain of one block and a node that serves it at an endpoint. Close ends it.
func Start(cfg Config) (*Node, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	n := &Node{
		cfg: cfg, deposit: big.NewInt(cfg.Deposit), known: map[[32]byte]*block{},
		tables: map[Runtime][]pallet{}, watched: map[[32]byte]*watch{},
	}
	n.pool = newPool(n)
	n.genesis = n.beginning()
	n.known[n.genesis.hash] = n.genesis
	n.best = []*block{n.genesis}
	if _, err := n.Endpoint(); err != nil {
		return nil, err
	}
	return n, nil
}

// Close ends all endpoints, and returns when no goroutine of theirs is left.
func (n *Node) Close() {
	n.mu.Lock()
	n.closed = true
	all := n.endpoints
	n.mu.Unlock()
	for _, e := range all {
		e.close()
	}
}

// Front returns the endpoint that Start has made.
func (n *Node) Front() *Endpoint {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.endpoints[0]
}

// URL returns that of the front endpoint, ws://….
func (n *Node) URL() string { return n.Front().URL() }

// Genesis returns the hash of the first block.
func (n *Node) Genesis() [32]byte { return n.genesis.hash }

// head returns the newest block. The lock is held, as it is for all methods with a small letter.
func (n *Node) head() *block { return n.best[len(n.best)-1] }

func (n *Node) now() time.Time { return n.cfg.Now().Add(n.passed) }

// Block is what a script sees of a block.
type Block struct {
	Number uint32
	Hash   [32]byte
	// Bodies are its extrinsics, the inherent of the time first.
	Bodies [][]byte
}

func (b *block) seen() Block { return Block{Number: b.number, Hash: b.hash, Bodies: b.bodies()} }

// Head returns the newest block of the best chain, Final the newest final one.
func (n *Node) Head() Block {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.head().seen()
}

// Final returns the newest block that is final.
func (n *Node) Final() Block {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.best[n.final].seen()
}

// Blocks returns the best chain, from the first block on: the witness of what has been carried out.
func (n *Node) Blocks() []Block {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]Block, len(n.best))
	for i, b := range n.best {
		all[i] = b.seen()
	}
	return all
}

// Nonce and Free return what the head's state says of an account; an account that does not exist has neither.
func (n *Node) Nonce(who string) (nonce uint32, exists bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.head().state.account(who)
	return a.nonce, a.providers > 0
}

// Free returns the balance of an account at the head.
func (n *Node) Free(who string) *big.Int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.head().state.account(who).free
}

// Pending returns what is in the pool: the ready queue and the future one, by arrival.
func (n *Node) Pending() (ready, future [][]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, one := range n.pool.sorted(n.pool.by) {
		if n.pool.future[one.hash] != nil {
			future = append(future, one.raw)
		} else {
			ready = append(ready, one.raw)
		}
	}
	return ready, future
}

// Hash returns the hash of an extrinsic: Blake2-256 of its bytes.
func Hash(raw []byte) [32]byte { return blake2b.Sum256(raw) }

// undo takes the newest blocks from the best chain.
func (n *Node) undo(depth int) []*block {
	at := len(n.best) - depth
	if depth < 0 || at <= n.final {
		panic("substratetest: a final block is never undone")
	}
	undone := slices.Clone(n.best[at:])
	n.best = n.best[:at]
	return undone
}
