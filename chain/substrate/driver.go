package substrate

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"sync"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/internal/node"
	"github.com/conchhq/conch/chain/substrate/internal/rpc"
	"github.com/conchhq/conch/chain/substrate/internal/rules"
	"github.com/conchhq/conch/chain/substrate/key"
)

// maxBatch is how many attempts one Submit should carry: they are on their way at once.
const maxBatch = 100

// Chain is a chain.Chain for one Substrate chain behind one endpoint. Its methods are safe for concurrent use.
//
// A call is what [Call] makes of an extrinsic.Named: its names, and the bytes of its arguments. There is no gas: Signed.Gas is 1, and Fee.Max is all that an
// attempt costs, its tip included.
type Chain struct {
	cfg  Config
	view *node.View
	keys map[chain.Account]key.Signer

	mu       sync.Mutex
	runtimes map[node.Version]*chainRuntime
	fees     fees
}

var _ chain.Chain = (*Chain)(nil)

// New makes a driver and does not connect. The error lists every fault of cfg.
func New(cfg Config) (*Chain, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("chain/substrate: %w", err)
	}
	c := &Chain{keys: map[chain.Account]key.Signer{}, runtimes: map[node.Version]*chainRuntime{}}
	for _, s := range cfg.Signers {
		c.keys[s.Account()] = s
	}
	c.view = node.New(node.Config{
		Endpoint: rpc.Config{URL: cfg.URL, Header: cfg.Header, Timeout: cfg.Timeout, MaxAnswer: cfg.MaxAnswer},
		Genesis:  cfg.Genesis, Poll: cfg.Poll, Unproven: cfg.Unproven,
	})
	cfg.URL, cfg.Header = rpc.Shown(cfg.URL), nil // only the client keeps the secrets
	c.cfg = cfg
	return c, nil
}

// Close closes the connection.
func (c *Chain) Close() { c.view.Close() }

// String leaves out secrets.
func (c *Chain) String() string { return c.cfg.String() }

// Format leaves out secrets, for every verb.
func (c *Chain) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// MarshalJSON leaves out secrets.
func (c *Chain) MarshalJSON() ([]byte, error) { return c.cfg.MarshalJSON() }

// Describe implements chain.Chain.
func (c *Chain) Describe(ctx context.Context) (chain.Description, error) {
	head, _, err := c.view.Tips(ctx)
	if err != nil {
		return chain.Description{}, err
	}
	rt, err := c.runtimeAfter(ctx, head.Hash)
	if err != nil {
		return chain.Description{}, err
	}
	return chain.Description{
		ID: "substrate:" + hex.EncodeToString([]byte(c.cfg.Genesis[:16])), MaxBatch: maxBatch, MaxPending: c.cfg.MaxPending,
		Era: rules.Period(c.cfg.Mortality, rt.hashes), NoIndex: true, Lives: true, By: c.view.String(), Genesis: c.cfg.Genesis,
	}, nil
}

// Next implements chain.Chain. It is 0 of an account that does not exist: what its first nonce will be, some chains decide when it
// begins (Z9).
func (c *Chain) Next(ctx context.Context, a chain.Account) (uint64, error) {
	counts, err := c.Counts(ctx, []chain.Account{a})
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// Counts implements chain.Chain.
func (c *Chain) Counts(ctx context.Context, accounts []chain.Account) ([]uint64, error) {
	all, err := c.AccountStates(ctx, accounts)
	if err != nil {
		return nil, err
	}
	counts := make([]uint64, len(all))
	for i, one := range all {
		counts[i] = one.Next
	}
	return counts, nil
}

// Pooled implements chain.Chain. It counts the ready queue alone: what is behind a missing nonce is not in it.
func (c *Chain) Pooled(ctx context.Context, a chain.Account) (uint64, error) {
	var next uint64
	err := c.view.Client().Call(ctx, &next, "system_accountNextIndex", address(a))
	return next, err
}

// AccountStates implements chain.Chain.
func (c *Chain) AccountStates(ctx context.Context, accounts []chain.Account) ([]chain.AccountState, error) {
	head, _, err := c.view.Tips(ctx)
	if err != nil {
		return nil, err
	}
	rt, err := c.runtimeAfter(ctx, head.Hash)
	if err != nil {
		return nil, err
	}
	held, err := c.accountsAt(ctx, rt, head.Hash, accounts)
	if err != nil {
		return nil, err
	}
	all := make([]chain.AccountState, len(accounts))
	for i, a := range accounts {
		all[i] = chain.AccountState{Account: a, Block: head.Block, Balance: held[i].free, Next: held[i].nonce, By: c.view.String()}
	}
	return all, nil
}

// Probe implements chain.Chain: no node finds a transaction by its hash.
func (c *Chain) Probe(ctx context.Context, _ []chain.Hash) ([]chain.Sighting, error) {
	if _, _, err := c.view.Tips(ctx); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %s has no index of transactions", chain.ErrAnswer, c.view)
}

// Replay implements chain.Chain: nodes keep the state of few blocks, and a runtime says of a call whether it is valid and not what it does.
func (c *Chain) Replay(context.Context, chain.Account, chain.Call, uint64) (string, error) {
	return "", fmt.Errorf("%w: %s does not carry out what is asked about", chain.ErrAnswer, c.view)
}

// Block implements chain.Chain.
func (c *Chain) Block(ctx context.Context, hash chain.Hash) (chain.Block, error) {
	return c.view.Block(ctx, hash)
}

// Linked implements chain.Chain.
func (c *Chain) Linked(ctx context.Context, of chain.Block, blocks []chain.Block) ([]bool, error) {
	return c.view.Linked(ctx, of, blocks)
}

// Heads implements chain.Chain.
func (c *Chain) Heads(ctx context.Context, from chain.Block) iter.Seq2[chain.Turn, error] {
	return c.view.Heads(ctx, from)
}

// Version implements chain.Chain: the version after a block is such as "statemine/900/3", its name and the two numbers for which an
// attempt is signed.
func (c *Chain) Version(ctx context.Context, of chain.Block) (string, error) {
	v, err := c.view.Version(ctx, of.Hash)
	if err != nil {
		return "", err
	}
	return v.String(), nil
}

// appendU32 appends a number as SCALE has it.
func appendU32(b []byte, n uint32) []byte { return binary.LittleEndian.AppendUint32(b, n) }
