package evm

import (
	"math/big"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
)

// quote has the fees and balances of one head. Transactions in a pool do not change them.
type quote struct {
	head     chain.Hash
	base     *big.Int // nil if unknown
	tip      *big.Int // nil if unknown
	balances map[chain.Account]*big.Int
}

// quotes keeps the newest head's quote, which saves a request for each intent. Safe for concurrent use.
type quotes struct {
	mu   sync.Mutex
	last quote
	seen time.Time
}

// notice takes a head that the node has just named.
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

// fresh returns the quote if its head was seen no longer ago than maxAge, else an empty one.
func (q *quotes) fresh(maxAge time.Duration) quote {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := quote{balances: map[chain.Account]*big.Int{}}
	if time.Since(q.seen) > maxAge {
		return out
	}
	out.head, out.base, out.tip = q.last.head, q.last.base, q.last.tip // never written to
	for a, b := range q.last.balances {
		out.balances[a] = new(big.Int).Set(b)
	}
	return out
}

// add adds to the quote of its head, unless there is a newer head.
func (q *quotes) add(asked quote) {
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
