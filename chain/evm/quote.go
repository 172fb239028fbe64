package evm

import (
	"context"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// quote is what is known, as of one head, of what a transaction costs and who can pay.
// Until the next block none of it changes: pools do not count.
type quote struct {
	head     chain.Hash
	base     *big.Int // nil: ask
	tip      *big.Int // nil: ask
	balances map[chain.Account]*big.Int
}

// quotes keeps that of the head that was seen last, so that a single intent costs one
// request and not two. Safe for concurrent use.
type quotes struct {
	mu   sync.Mutex
	last quote
	seen time.Time
}

// notice tells of a head that the node has just named.
func (q *quotes) notice(h *header) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen = time.Now()
	if head := chain.Hash(h.Hash); head != q.last.head {
		q.last = quote{head: head, balances: map[chain.Account]*big.Int{}}
		if h.BaseFee != nil {
			q.last.base = h.BaseFee.ToInt()
		}
	}
}

// fresh is the quote if its head was seen that lately, and an empty one if not: nobody
// may be following the chain, or the line to the node be silent.
func (q *quotes) fresh(lately time.Duration) quote {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := quote{balances: map[chain.Account]*big.Int{}}
	if time.Since(q.seen) > lately {
		return out
	}
	out.head, out.base, out.tip = q.last.head, q.last.base, q.last.tip // nobody writes to them
	for a, b := range q.last.balances {
		out.balances[a] = new(big.Int).Set(b)
	}
	return out
}

// Warm implements chain.Warmer: what Prepare asks for once with each head.
func (c *Chain) Warm(ctx context.Context, a chain.Account) {
	f, err := c.known(ctx)
	if err != nil || c.signers[a] == nil {
		return
	}
	var head *header
	var tip, balance hexutil.Big
	calls := []rpc.BatchElem{
		f.asked("latest", &head),
		{Method: "eth_maxPriorityFeePerGas", Result: &tip},
		{Method: "eth_getBalance", Args: []any{a, "latest"}, Result: &balance},
	}
	if err := c.endpoint.batch(ctx, calls); err != nil || head == nil || !head.whole() {
		return
	}
	for _, call := range calls {
		if call.Error != nil {
			return
		}
	}
	c.quotes.notice(head)
	c.quotes.learn(quote{head: chain.Hash(head.Hash), tip: tip.ToInt(), balances: map[chain.Account]*big.Int{a: balance.ToInt()}})
}

// learn adds what was asked for, unless there is another head by now.
func (q *quotes) learn(asked quote) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if asked.head == "" || asked.head != q.last.head {
		return
	}
	q.last.tip = asked.tip
	for a, b := range asked.balances {
		q.last.balances[a] = new(big.Int).Set(b)
	}
}
