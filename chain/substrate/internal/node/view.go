package node

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
	"github.com/conchhq/conch/chain/substrate/internal/rpc"
)

// remembered is how many blocks are remembered, and so the depth of the deepest reorganisation that can be followed.
const remembered = 4096

const (
	defaultPoll   = time.Second
	defaultAnyway = 10 * time.Second
)

// Config configures a View. URL, in Endpoint, and Genesis are required.
type Config struct {
	Endpoint rpc.Config
	// Genesis is the hash of the chain's first block, which the endpoint has to show.
	Genesis chain.Hash
	// Poll is the time between looks at the head while the endpoint does not tell of heads; default 1 s.
	Poll time.Duration
	// Anyway is the time between looks while it does, since a subscription may end without a word; default 10 s.
	Anyway time.Duration
	// Unproven takes bodies that do not fit their root. It is for tools that make blocks without roots, such as Chopsticks.
	Unproven bool
}

// View is a chain as one endpoint shows it. It is safe for concurrent use.
type View struct {
	cfg    Config
	client *rpc.Client
	memory *ancestry.Memory
	lines  lines
	states states
}

// New makes a view, and does not connect.
func New(cfg Config) *View {
	cfg.Poll, cfg.Anyway = cmp.Or(cfg.Poll, defaultPoll), cmp.Or(cfg.Anyway, defaultAnyway)
	v := &View{cfg: cfg, memory: ancestry.NewMemory(remembered)}
	cfg.Endpoint.Greet = v.greet
	v.client = rpc.New(cfg.Endpoint)
	return v
}

// Close ends the connection.
func (v *View) Close() { v.client.Close() }

// String returns the endpoint, without secrets.
func (v *View) String() string { return v.client.String() }

// Client returns what asks the endpoint.
func (v *View) Client() *rpc.Client { return v.client }

// greet finds out whether a new connection leads to the chain, and to a node that has it.
func (v *View) greet(ctx context.Context, ask rpc.Ask) error {
	var genesis Bytes
	if err := ask(ctx, &genesis, "chain_getBlockHash", 0); err != nil {
		return err
	}
	if chain.Hash(genesis) != v.cfg.Genesis {
		return fmt.Errorf("%w: %s has the genesis %v, the configuration says %v: correct one of them", chain.ErrForeign, v, chain.Hash(genesis), v.cfg.Genesis)
	}
	var text json.RawMessage
	if err := ask(ctx, &text, "chain_getHeader", genesis); err != nil {
		return err
	}
	if h, err := readHeader(text); err != nil || h == nil || h.Hash != v.cfg.Genesis {
		return fmt.Errorf("%w: the header of block 0 that %s returns has not the hash %v: this chain's headers are not hashed with Blake2-256", chain.ErrUnsupported, v, v.cfg.Genesis)
	}
	var health struct {
		IsSyncing bool `json:"isSyncing"`
	}
	err := ask(ctx, &health, "system_health")
	if _, spoken := rpc.Answered(err); err != nil && !spoken {
		return err // a gateway may have it not; then nothing is said
	}
	if health.IsSyncing {
		return &rpc.Error{Method: "system_health", By: v.String(), Message: "it is syncing, and shows an old head"}
	}
	return nil
}

// Tips returns the head and the last final block, as the endpoint names them.
func (v *View) Tips(ctx context.Context) (head, final Header, err error) {
	var best json.RawMessage
	var hash Bytes
	calls := []rpc.Request{{Method: "chain_getHeader", Result: &best}, {Method: "chain_getFinalizedHead", Result: &hash}}
	if err := v.all(ctx, calls); err != nil {
		return head, final, err
	}
	h, err := readHeader(best)
	if err != nil || h == nil {
		return head, final, fmt.Errorf("%w: asked %s for the head: %w", chain.ErrAnswer, v, errors.Join(err, errHeader))
	}
	head = *h
	v.keep(head)
	final, err = v.Header(ctx, chain.Hash(hash))
	if errors.Is(err, chain.ErrThread) { // another backend has named it
		err = nil
	}
	return head, final, err
}

// all makes calls that must all succeed.
func (v *View) all(ctx context.Context, calls []rpc.Request) error {
	if err := v.client.Calls(ctx, calls); err != nil {
		return err
	}
	for _, call := range calls {
		if call.Err != nil {
			return call.Err
		}
	}
	return nil
}

// Header returns the header of a block. The error wraps chain.ErrThread if the endpoint does not know the block.
func (v *View) Header(ctx context.Context, hash chain.Hash) (Header, error) {
	if h, known := v.states.header(hash); known {
		return h, nil
	}
	var text json.RawMessage
	if err := v.client.Call(ctx, &text, "chain_getHeader", Bytes(hash)); err != nil {
		return Header{}, err
	}
	return v.accept(hash, text)
}

// accept takes a header that was asked for by its hash.
func (v *View) accept(hash chain.Hash, text json.RawMessage) (Header, error) {
	h, err := readHeader(text)
	switch {
	case err != nil:
		return Header{}, fmt.Errorf("%w: asked %s for block %v: %w", chain.ErrAnswer, v, hash, err)
	case h == nil:
		return Header{}, fmt.Errorf("%w: %s does not know block %v", chain.ErrThread, v, hash)
	case h.Hash != hash:
		return Header{}, fmt.Errorf("%w: the header that %s returns for block %v has the hash %v", chain.ErrAnswer, v, hash, h.Hash)
	}
	v.keep(*h)
	return *h, nil
}

func (v *View) keep(h Header) {
	v.memory.Add(h.Block)
	v.states.keep(h)
}

// Block is that of chain.Chain.
func (v *View) Block(ctx context.Context, hash chain.Hash) (chain.Block, error) {
	h, err := v.Header(ctx, hash)
	return h.Block, err
}

// states are headers, and what is known of the states after them. Safe for concurrent use.
type states struct {
	mu      sync.Mutex
	headers map[chain.Hash]Header
	order   []chain.Hash // by arrival
	version map[chain.Hash]Version
}

func (s *states) header(hash chain.Hash) (Header, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, known := s.headers[hash]
	return h, known
}

// keep keeps a header, and drops the oldest if there are too many.
func (s *states) keep(h Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.headers == nil {
		s.headers, s.version = map[chain.Hash]Header{}, map[chain.Hash]Version{}
	}
	if _, known := s.headers[h.Hash]; known {
		return
	}
	s.headers[h.Hash] = h
	if s.order = append(s.order, h.Hash); len(s.order) > remembered {
		delete(s.headers, s.order[0])
		delete(s.version, s.order[0])
		s.order = s.order[1:]
	}
}
