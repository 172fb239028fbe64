package evm

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// remembered is the depth, in blocks, of the deepest reorganisation that can be followed.
const remembered = 4096

// Chain is a chain.Chain for one EVM chain. Its methods are safe for concurrent use.
type Chain struct {
	cfg       Config
	endpoint  *endpoint
	signers   map[chain.Account]Signer
	memory    *chain.Memory
	submitted submitted
	binary    binaryReceipts
	quotes    quotes

	mu    sync.Mutex
	facts *facts // nil until the endpoint has answered, and again after it was silent
}

var (
	_ chain.Chain  = (*Chain)(nil)
	_ chain.Warmer = (*Chain)(nil)
)

// facts are the properties of an endpoint, constant while it serves the same chain.
type facts struct {
	blockGas    uint64
	tagged      bool // the chain has the tag "finalized"
	headersOnly bool // the node has eth_getHeaderByNumber
	depth       uint64
}

// New makes a driver and does not connect. The error lists every fault of cfg.
func New(cfg Config) (*Chain, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("chain/evm: %w", err)
	}
	cfg = cfg.withDefaults()
	ep := newEndpoint(cfg)
	cfg.URL, cfg.Header = ep.shown, nil // only the endpoint keeps the secrets
	c := &Chain{cfg: cfg, endpoint: ep, signers: map[chain.Account]Signer{}, memory: chain.NewMemory(remembered)}
	for _, s := range cfg.Signers {
		c.signers[s.Account()] = s
	}
	return c, nil
}

// Close closes the connections. A later call connects again.
func (c *Chain) Close() { c.endpoint.close() }

// String leaves out secrets.
func (c *Chain) String() string { return c.cfg.String() }

// Format leaves out secrets, for every verb.
func (c *Chain) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// MarshalJSON leaves out secrets.
func (c *Chain) MarshalJSON() ([]byte, error) { return c.cfg.MarshalJSON() }

// Describe implements chain.Chain.
func (c *Chain) Describe(ctx context.Context) (chain.Description, error) {
	f, err := c.learn(ctx)
	if err != nil {
		return chain.Description{}, err
	}
	return chain.Description{
		ID: "evm:" + strconv.FormatUint(c.cfg.ChainID, 10), MaxBatch: c.cfg.MaxBatch, MaxPending: c.cfg.MaxPending,
		BlockGas: f.blockGas, MinRaise: minRaise, Depth: f.depth,
	}, nil
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
	var latest, headersOnly *header
	var rules struct {
		Current struct {
			Precompiles map[string]string `json:"precompiles"`
		} `json:"current"`
	}
	calls := []rpc.BatchElem{
		{Method: "eth_chainId", Result: &id},
		{Method: "eth_getBlockByNumber", Args: []any{"latest", false}, Result: &latest},
		{Method: "eth_getBlockByNumber", Args: []any{"finalized", false}, Result: new(header)},
		{Method: "eth_config", Result: &rules},
		facts{headersOnly: true}.blockCall("latest", &headersOnly),
	}
	if err := c.read(ctx, calls, faulty); err != nil {
		return facts{}, err
	}
	for i, call := range calls {
		// An error says that the chain lacks a tag or a method, but not if it means that
		// there was no answer or that a rate limit was reached.
		if call.Error != nil && (i < 2 || silent(call.Error) || throttled(call.Error)) {
			return facts{}, c.endpoint.fail(call.Method, call.Error)
		}
	}
	if uint64(id) != c.cfg.ChainID {
		c.forget() // other goroutines must not use the facts of the old chain
		return facts{}, c.foreign(uint64(id))
	}
	if err := c.checkBlock("latest", latest); err != nil {
		return facts{}, err
	}
	if latest.GasLimit == 0 {
		return facts{}, fmt.Errorf("%w: %s gives a block gas limit of 0, which is impossible", chain.ErrAnswer, c.cfg.URL)
	}
	f := facts{blockGas: uint64(latest.GasLimit), depth: c.cfg.Depth, headersOnly: calls[4].Error == nil && headersOnly.complete()}
	if f.depth == 0 {
		if f.tagged = tagged(calls[2].Error); !f.tagged {
			f.depth = defaultDepth
		}
	}
	// The gas cap of EIP-7825 came with this precompile; no method returns the cap itself.
	if _, osaka := rules.Current.Precompiles["P256VERIFY"]; osaka && calls[3].Error == nil {
		f.blockGas = min(f.blockGas, transactionGas)
	}
	if c.cfg.MaxGas > 0 {
		f.blockGas = min(f.blockGas, c.cfg.MaxGas)
	}
	c.mu.Lock()
	c.facts = &f
	c.mu.Unlock()
	return f, nil
}

// transactionGas is the gas cap of one transaction in EIP-7825.
const transactionGas = 1 << 24

// tagged reports whether the chain has the tag "finalized", from the error of a request with
// it. Some clients answer "not found" while no block is final yet.
func tagged(err error) bool {
	return err == nil || strings.Contains(strings.ToLower(err.Error()), "not found")
}

func (c *Chain) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.facts = nil
}

// Next implements chain.Chain.
func (c *Chain) Next(ctx context.Context, a chain.Account, at chain.Level) (uint64, error) {
	f, err := c.known(ctx)
	if err != nil {
		return 0, err
	}
	tag := "latest"
	var next hexutil.Uint64
	if at == chain.Final && f.tagged {
		calls := []rpc.BatchElem{{Method: "eth_getTransactionCount", Args: []any{a, "finalized"}, Result: &next}}
		if err := c.batch(ctx, calls); err != nil {
			return 0, err
		}
		if calls[0].Error == nil {
			return c.checkNumber("next nonce", next)
		}
	}
	if at == chain.Final { // clients differ in their answer while no block is final, so ask in two steps
		final, err := c.finalNumber(ctx, f)
		if err != nil {
			return 0, err
		}
		tag = hexutil.EncodeUint64(final)
	}
	if err := c.all(ctx, []rpc.BatchElem{{Method: "eth_getTransactionCount", Args: []any{a, tag}, Result: &next}}); err != nil {
		return 0, err
	}
	return c.checkNumber("next nonce", next)
}

// finalNumber returns the number of the last final block, 0 if there is none yet.
func (c *Chain) finalNumber(ctx context.Context, f facts) (uint64, error) {
	if f.tagged {
		var b *header
		calls := []rpc.BatchElem{f.blockCall("finalized", &b)}
		if err := c.batch(ctx, calls); err != nil {
			return 0, err
		}
		if b == nil && !tagged(calls[0].Error) {
			return 0, c.endpoint.fail(calls[0].Method, calls[0].Error)
		}
		if b != nil && !b.valid() { // some clients answer null while no block is final
			return 0, c.checkBlock("finalized", b)
		}
		return b.block().Number, nil
	}
	var head hexutil.Uint64
	if err := c.all(ctx, []rpc.BatchElem{{Method: "eth_blockNumber", Result: &head}}); err != nil {
		return 0, err
	}
	return uint64(head) - min(uint64(head), f.depth), nil
}
