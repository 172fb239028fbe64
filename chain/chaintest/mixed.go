package chaintest

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

// Fork returns a node with the same accounts, blocks and pool, which goes its own way from now on: a
// backend that is on a dead branch, or that stands still. Its final block stays, since a network does not
// finalize two branches.
func (n *Node) Fork() *Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	f := &Node{
		cfg: n.cfg, rand: rand.New(rand.NewPCG(n.rand.Uint64(), 3)), keys: maps.Clone(n.keys), faucet: maps.Clone(n.faucet),
		known: maps.Clone(n.known), best: slices.Clone(n.best), mined: maps.Clone(n.mined), texts: maps.Clone(n.texts), final: n.final,
		lost: slices.Clone(n.lost), banned: maps.Clone(n.banned), upgrade: n.upgrade, reap: n.reap, forgot: n.forgot, baseFee: n.baseFee, blocks: n.blocks + 1_000_000, changed: make(chan struct{}),
	}
	f.cfg.Depth = 0
	f.pool = newPool(f)
	for _, tx := range n.pool.slots {
		f.pool.add(tx.signed.Bytes)
	}
	return f
}

// mixed is an endpoint behind which several nodes stand, as a provider's: each call is answered by any of them.
type mixed struct {
	memory *ancestry.Memory
	mu     sync.Mutex
	rand   *rand.Rand
	lines  []*Line
}

// NewMixed makes an endpoint of several lines: each call is answered by any of them.
func NewMixed(seed uint64, lines ...*Line) chain.Chain {
	return &mixed{memory: ancestry.NewMemory(remembered), rand: rand.New(rand.NewPCG(seed, 4)), lines: lines}
}

func (m *mixed) any() *Line {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lines[m.rand.IntN(len(m.lines))]
}

// Describe implements chain.Chain.
func (m *mixed) Describe(ctx context.Context) (chain.Description, error) {
	return m.any().Describe(ctx)
}

// Next implements chain.Chain.
func (m *mixed) Next(ctx context.Context, a chain.Account) (uint64, error) {
	return m.any().Next(ctx, a)
}

// Version implements chain.Chain.
func (m *mixed) Version(ctx context.Context, of chain.Block) (string, error) {
	return m.any().Version(ctx, of)
}

// Counts implements chain.Chain.
func (m *mixed) Counts(ctx context.Context, accounts []chain.Account) ([]uint64, error) {
	return m.any().Counts(ctx, accounts)
}

// Pooled implements chain.Chain.
func (m *mixed) Pooled(ctx context.Context, a chain.Account) (uint64, error) {
	return m.any().Pooled(ctx, a)
}

// Prepare implements chain.Chain.
func (m *mixed) Prepare(ctx context.Context, drafts []chain.Draft) ([]chain.Prepared, error) {
	return m.any().Prepare(ctx, drafts)
}

// Submit implements chain.Chain.
func (m *mixed) Submit(ctx context.Context, attempts []chain.Signed) []chain.Outcome {
	return m.any().Submit(ctx, attempts)
}

// Probe implements chain.Chain.
func (m *mixed) Probe(ctx context.Context, hashes []chain.Hash) ([]chain.Sighting, error) {
	return m.any().Probe(ctx, hashes)
}

// Scan implements chain.Chain.
func (m *mixed) Scan(ctx context.Context, of chain.Block, a chain.Account, from uint64, most int) ([]chain.Inclusion, uint64, error) {
	return m.any().Scan(ctx, of, a, from, most)
}

// Prove implements chain.Chain.
func (m *mixed) Prove(ctx context.Context, in chain.Inclusion) (chain.Draft, error) {
	return m.any().Prove(ctx, in)
}

// Block implements chain.Chain.
func (m *mixed) Block(ctx context.Context, h chain.Hash) (chain.Block, error) {
	return m.any().Block(ctx, h)
}

// Replay implements chain.Chain.
func (m *mixed) Replay(ctx context.Context, from chain.Account, call chain.Call, height uint64) (string, error) {
	return m.any().Replay(ctx, from, call, height)
}

// Receipt implements chain.Chain.
func (m *mixed) Receipt(ctx context.Context, in chain.Inclusion) (chain.Receipt, error) {
	return m.any().Receipt(ctx, in)
}

// AccountStates implements chain.Chain.
func (m *mixed) AccountStates(ctx context.Context, accounts []chain.Account) ([]chain.AccountState, error) {
	return m.any().AccountStates(ctx, accounts)
}

// Quote implements chain.Chain.
func (m *mixed) Quote(ctx context.Context, from chain.Account, call chain.Call, speed chain.Speed) (chain.Quote, error) {
	return m.any().Quote(ctx, from, call, speed)
}

// Linked implements chain.Chain.
func (m *mixed) Linked(ctx context.Context, of chain.Block, blocks []chain.Block) ([]bool, error) {
	return m.any().Linked(ctx, of, blocks)
}

// Confirm implements chain.Chain.
func (m *mixed) Confirm(ctx context.Context, claims []chain.Claim) ([]chain.Opinion, error) {
	return m.any().Confirm(ctx, claims)
}

// Inclusions implements chain.Chain.
func (m *mixed) Inclusions(ctx context.Context, at chain.Block, accounts []chain.Account) ([]chain.Inclusion, error) {
	return m.any().Inclusions(ctx, at, accounts)
}

// looks is the interval between looks at the head.
const looks = 500 * time.Millisecond

// lookIn is look for an endpoint of several nodes.
func (l *Line) lookIn(ctx context.Context, trail *ancestry.Trail, doubt *ancestry.Doubt) ([]chain.Turn, error) {
	last, following := trail.Below(0)
	l.node.mu.Lock()
	passes := doubt.Passes(last, l.node.head().Block)
	l.node.mu.Unlock()
	if passes {
		return nil, nil
	}
	turns, _, err := l.look(ctx, trail)
	if errors.Is(err, chain.ErrThread) && following && !doubt.Unlinked() {
		return nil, nil
	}
	if err == nil {
		doubt.Linked()
	}
	return turns, err
}

// Heads implements chain.Chain.
func (m *mixed) Heads(ctx context.Context, from chain.Block) iter.Seq2[chain.Turn, error] {
	return func(yield func(chain.Turn, error) bool) {
		trail := ancestry.NewTrail(remembered, m.memory.Thread(from)...)
		var doubt ancestry.Doubt
		poll := time.NewTicker(looks)
		defer poll.Stop()
		for {
			turns, err := m.any().lookIn(ctx, trail, &doubt)
			if err != nil {
				yield(chain.Turn{}, err)
				return
			}
			for _, turn := range turns {
				m.memory.Add(turn.Block)
				if !yield(turn, nil) {
					return
				}
			}
			select {
			case <-ctx.Done():
				yield(chain.Turn{}, ctx.Err())
				return
			case <-poll.C:
			}
		}
	}
}
