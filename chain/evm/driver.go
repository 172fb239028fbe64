package evm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

// remembered is the depth, in blocks, of the deepest reorganisation that can be followed.
const remembered = 4096

// Chain is a chain.Chain for one EVM chain. Its methods are safe for concurrent use.
type Chain struct {
	cfg       Config
	endpoint  *endpoint
	keys      *Keys
	memory    *ancestry.Memory
	submitted submitted
	binary    binaryReceipts
	quotes    quotes
	reads     batchSize
	sends     batchSize
	pace      pace
	followed  links // of the blocks that Heads follows
	witness   links // of the blocks that Confirm asks for anew

	linkPatience time.Duration // the constant, but in tests

	mu      sync.Mutex
	facts   *facts     // nil until the endpoint has answered, and again after it was silent
	genesis chain.Hash // of the first answer about block 0; empty until there is one
}

var _ chain.Chain = (*Chain)(nil)

// facts are the properties of an endpoint, constant while it serves the same chain.
type facts struct {
	blockGas    uint64
	headersOnly bool // the node has eth_getHeaderByNumber
	tips        tipSource
	legacy      bool // the blocks have no base fee
	floor       bool // a call's data has a least gas of its own: the rules are those of Prague or later
}

// New makes a driver and does not connect. The error lists every fault of cfg.
func New(cfg Config) (*Chain, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("chain/evm: %w", err)
	}
	cfg = cfg.withDefaults()
	ep := newEndpoint(cfg)
	cfg.URL, cfg.Header = ep.shown, nil // only the endpoint keeps the secrets
	c := &Chain{cfg: cfg, endpoint: ep, keys: cfg.Keys, memory: ancestry.NewMemory(remembered), linkPatience: linkPatience}
	c.followed.memory = c.memory
	for _, s := range cfg.Signers {
		c.keys.Add(s)
	}
	ep.listens, ep.silence = c.patience, c.pace.fellSilent
	return c, nil
}

// Allow replaces Config.MaxCallsPerSecond, if that is set, by another rate above 0: what other processes leave of it.
func (c *Chain) Allow(callsPerSecond float64) { c.endpoint.budget.SetRate(callsPerSecond) }

// Close closes the connections. A later call connects again.
func (c *Chain) Close() { c.endpoint.close() }

// String leaves out secrets.
func (c *Chain) String() string { return c.cfg.String() }

// Format leaves out secrets, for every verb.
func (c *Chain) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// MarshalJSON leaves out secrets.
func (c *Chain) MarshalJSON() ([]byte, error) { return c.cfg.MarshalJSON() }

// Describe implements chain.Chain. The error wraps ErrFinality if the endpoint calls its head final, or
// names no final block, and the configuration does not say otherwise; ErrUnsupported if its blocks have no base fee.
func (c *Chain) Describe(ctx context.Context) (chain.Description, error) {
	ctx = budget.Urgently(ctx, budget.Heads)
	f, err := c.learn(ctx)
	if err != nil {
		return chain.Description{}, err
	}
	if f.legacy {
		return chain.Description{}, c.unsupported()
	}
	if err := c.checkFinality(ctx, f); err != nil {
		return chain.Description{}, err
	}
	return chain.Description{
		ID: "evm:" + strconv.FormatUint(c.cfg.ChainID, 10), MaxBatch: c.cfg.MaxBatch, MaxPending: c.cfg.MaxPending,
		BlockGas: f.blockGas, MinRaise: minRaise, Depth: c.cfg.Depth, StillAfter: c.cfg.StillAfter, By: c.cfg.URL, Genesis: c.genesisHash(),
	}, nil
}

func (c *Chain) unsupported() error {
	return fmt.Errorf("%w: the blocks of %s have no base fee, and conch signs with the fees of EIP-1559", chain.ErrUnsupported, c.cfg.URL)
}

// known returns the facts, and asks for them if there are none. So no call goes to an endpoint
// before it has proved, and proved again after a silence, that it serves the chain.
func (c *Chain) known(ctx context.Context) (facts, error) {
	c.mu.Lock()
	f := c.facts
	c.mu.Unlock()
	if f != nil {
		return *f, nil
	}
	return c.learn(ctx)
}

func (c *Chain) learn(ctx context.Context) (facts, error) {
	var id hexutil.Uint64
	var latest *header
	calls := []rpc.BatchElem{
		{Method: "eth_chainId", Result: &id},
		{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: &latest},
	}
	if err := c.all(ctx, calls); err != nil {
		return facts{}, err
	}
	if uint64(id) != c.cfg.ChainID {
		c.forget() // other goroutines must not use the facts of the old chain
		return facts{}, c.foreign(uint64(id))
	}
	if err := c.checkBlock(latest); err != nil {
		return facts{}, err
	}
	if latest.GasLimit == 0 {
		return facts{}, fmt.Errorf("%w: %s gives a block gas limit of 0, which is impossible", chain.ErrAnswer, c.cfg.URL)
	}
	f, err := c.learnMore(ctx, facts{blockGas: uint64(latest.GasLimit), legacy: latest.BaseFee == nil, floor: latest.Requests != nil})
	if err != nil {
		return facts{}, err
	}
	c.mu.Lock()
	c.facts = &f
	c.mu.Unlock()
	return f, nil
}

// learnMore asks for what not every node has, each alone: a gateway refuses a whole request for one
// method that it does not know (W16).
func (c *Chain) learnMore(ctx context.Context, f facts) (facts, error) {
	var first, headersOnly *header
	var rules struct {
		Current struct {
			Precompiles map[string]string `json:"precompiles"`
		} `json:"current"`
	}
	for _, optional := range []rpc.BatchElem{
		{Method: "eth_getBlockByNumber", Args: []any{"0x0", false}, Result: &first},
		{Method: "eth_config", Result: &rules},
		facts{headersOnly: true}.blockCall("latest", &headersOnly),
	} {
		call := []rpc.BatchElem{optional}
		err := c.endpoint.batch(ctx, call)
		if err != nil && ctx.Err() != nil {
			return facts{}, err
		}
	}
	var err error
	if f.tips, err = c.learnTips(ctx); err != nil {
		return facts{}, err
	}
	if first.valid() {
		if err := c.checkGenesis(first.block().Hash); err != nil {
			return facts{}, err
		}
	}
	f.headersOnly = headersOnly.complete()
	// The gas cap of EIP-7825 came with this precompile; no method returns the cap itself.
	if _, osaka := rules.Current.Precompiles["P256VERIFY"]; osaka {
		f.blockGas = min(f.blockGas, transactionGas)
	}
	if c.cfg.MaxGas > 0 {
		f.blockGas = min(f.blockGas, c.cfg.MaxGas)
	}
	return f, nil
}

// isMissing reports whether an endpoint does not serve a method, whatever it is asked. A limit says nothing of the
// method, and a silence may pass.
func isMissing(err error) bool {
	if status, refused := errors.AsType[*statusError](err); refused {
		return status.forGood()
	}
	return err != nil && !silent(err) && !throttled(err)
}

// genesisHash returns the hash of block 0, if the endpoint has returned it.
func (c *Chain) genesisHash() chain.Hash {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.genesis
}

// checkGenesis returns an error if the endpoint's block 0 has changed: forks of a chain share its ID.
func (c *Chain) checkGenesis(hash chain.Hash) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.genesis == "" {
		c.genesis = hash
	}
	if c.genesis != hash {
		c.facts = nil
		return fmt.Errorf("%w: %s has chain ID %d, and its block 0 was %v and is now %v", chain.ErrForeign, c.cfg.URL, c.cfg.ChainID, c.genesis, hash)
	}
	return nil
}

// transactionGas is the gas cap of one transaction in EIP-7825.
const transactionGas = 1 << 24

func (c *Chain) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.facts = nil
}

// Next implements chain.Chain.
func (c *Chain) Next(ctx context.Context, a chain.Account) (uint64, error) {
	counts, err := c.Counts(ctx, []chain.Account{a})
	if err != nil {
		return 0, err
	}
	return counts[0], nil
}

// Counts implements chain.Chain.
func (c *Chain) Counts(ctx context.Context, accounts []chain.Account) ([]uint64, error) {
	ctx = budget.Urgently(ctx, budget.Blocks)
	if _, err := c.known(ctx); err != nil {
		return nil, err
	}
	next := make([]hexutil.Uint64, len(accounts))
	calls := make([]rpc.BatchElem, len(accounts))
	for i, a := range accounts {
		calls[i] = rpc.BatchElem{Method: "eth_getTransactionCount", Args: []any{a, "latest"}, Result: &next[i]}
	}
	if err := c.all(ctx, calls); err != nil {
		return nil, err
	}
	counts := make([]uint64, len(accounts))
	for i, n := range next {
		var err error
		if counts[i], err = c.checkNumber("next nonce", n); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// Pooled implements chain.Chain.
func (c *Chain) Pooled(ctx context.Context, a chain.Account) (uint64, error) {
	ctx = budget.Urgently(ctx, budget.Looks)
	if _, err := c.known(ctx); err != nil {
		return 0, err
	}
	var next hexutil.Uint64
	if err := c.all(ctx, []rpc.BatchElem{{Method: "eth_getTransactionCount", Args: []any{a, "pending"}, Result: &next}}); err != nil {
		return 0, err
	}
	return c.checkNumber("next nonce in the pool", next)
}

// Tip returns the head.
func (c *Chain) Tip(ctx context.Context) (chain.Block, error) {
	ctx = budget.Urgently(ctx, budget.Heads)
	f, err := c.known(ctx)
	if err != nil {
		return chain.Block{}, err
	}
	var head *header
	if err := c.all(ctx, []rpc.BatchElem{f.blockCall("latest", &head)}); err != nil {
		return chain.Block{}, err
	}
	if err := c.checkBlock(head); err != nil {
		return chain.Block{}, err
	}
	c.memory.Add(head.block())
	return head.block(), nil
}
