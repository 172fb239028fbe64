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

// remembered is how many blocks a reorganization may be deep.
const remembered = 4096

// Chain is a chain behind an endpoint. Safe for concurrent use.
type Chain struct {
	cfg      Config
	endpoint *endpoint
	signers  map[chain.Account]Signer
	memory   *chain.Memory
	handed   handed
	habit    habit
	quotes   quotes

	mu    sync.Mutex
	facts *facts // what is known of the endpoint; nil until it has answered
}

var (
	_ chain.Chain  = (*Chain)(nil)
	_ chain.Warmer = (*Chain)(nil)
)

// facts do not change while an endpoint serves the same chain.
type facts struct {
	blockGas uint64
	tagged   bool // the chain knows the tag finalized
	lean     bool // the node gives headers alone
	depth    uint64
}

// New makes a driver. It does not connect: an endpoint that is down is found out, and
// found again, by those who use it.
func New(cfg Config) (*Chain, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("chain/evm: %w", err)
	}
	cfg = cfg.withDefaults()
	ep := newEndpoint(cfg)
	cfg.URL, cfg.Header = ep.shown, nil // the endpoint alone has the secrets
	c := &Chain{cfg: cfg, endpoint: ep, signers: map[chain.Account]Signer{}, memory: chain.NewMemory(remembered)}
	for _, s := range cfg.Signers {
		c.signers[s.Account()] = s
	}
	return c, nil
}

// Close drops the connections. Calls after it connect anew.
func (c *Chain) Close() { c.endpoint.close() }

// String leaves out what may be secret.
func (c *Chain) String() string { return c.cfg.String() }

// Format leaves out what may be secret, whatever the verb.
func (c *Chain) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// MarshalJSON leaves out what may be secret.
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

// known returns the facts, asking for them if there are none. No call goes to an
// endpoint that has not proven to serve the chain; after a silence it has to anew.
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
	var latest, lean *header
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
		facts{lean: true}.asked("latest", &lean),
	}
	if err := c.read(ctx, calls, faulty); err != nil {
		return facts{}, err
	}
	for i, call := range calls {
		// Whether the chain knows a tag, or a rule, is in an error; that there was no
		// answer says neither, nor does it that too much was asked.
		if call.Error != nil && (i < 2 || silent(call.Error) || throttled(call.Error)) {
			return facts{}, c.endpoint.fail(call.Method, call.Error)
		}
	}
	if uint64(id) != c.cfg.ChainID {
		c.forget() // nobody else may go on with what was known of the other one
		return facts{}, c.foreign(uint64(id))
	}
	if err := c.blank("latest", latest); err != nil {
		return facts{}, err
	}
	if latest.GasLimit == 0 {
		return facts{}, fmt.Errorf("%w: %s says that a block has no gas, which cannot be", chain.ErrAnswer, c.cfg.URL)
	}
	f := facts{blockGas: uint64(latest.GasLimit), depth: c.cfg.Depth, lean: calls[4].Error == nil && lean.whole()}
	if f.depth == 0 {
		if f.tagged = tagged(calls[2].Error); !f.tagged {
			f.depth = defaultDepth
		}
	}
	// The cap of EIP-7825 came with this precompile; no call asks for the cap itself.
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

// transactionGas is what EIP-7825 lets one transaction spend.
const transactionGas = 1 << 24

// tagged tells from the answer to the tag finalized whether the chain knows it; that
// no block is final yet is an error with some clients.
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
			return c.count("next index", next)
		}
	}
	if at == chain.Final { // in two steps: clients differ in what they answer before a block is final
		if tag, err = c.finalTag(ctx, f); err != nil {
			return 0, err
		}
	}
	if err := c.all(ctx, []rpc.BatchElem{{Method: "eth_getTransactionCount", Args: []any{a, tag}, Result: &next}}); err != nil {
		return 0, err
	}
	return c.count("next index", next)
}

// finalTag names the last final block as calls want it; before there is one, that is
// the first block.
func (c *Chain) finalTag(ctx context.Context, f facts) (string, error) {
	final, err := c.final(ctx, f)
	if err != nil {
		return "", err
	}
	return hexutil.EncodeUint64(final.Number), nil
}

func (c *Chain) final(ctx context.Context, f facts) (chain.Block, error) {
	if f.tagged {
		var b *header
		calls := []rpc.BatchElem{f.asked("finalized", &b)}
		if err := c.batch(ctx, calls); err != nil {
			return chain.Block{}, err
		}
		if b == nil && !tagged(calls[0].Error) {
			return chain.Block{}, c.endpoint.fail(calls[0].Method, calls[0].Error)
		}
		if b != nil && !b.named() { // null is what some say before a block is final
			return chain.Block{}, c.blank("finalized", b)
		}
		return b.block(), nil
	}
	var head hexutil.Uint64
	if err := c.all(ctx, []rpc.BatchElem{{Method: "eth_blockNumber", Result: &head}}); err != nil {
		return chain.Block{}, err
	}
	if uint64(head) < f.depth {
		return chain.Block{}, nil
	}
	return chain.Block{Number: uint64(head) - f.depth}, nil
}
