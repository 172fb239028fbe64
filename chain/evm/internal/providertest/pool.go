package providertest

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

// AccountSlots is a pool that keeps so many transactions of an account. It judges a request as of the block at
// which it came: on a slow machine blocks would otherwise come faster than the calls of a batch.
func AccountSlots(most uint64, refusal string) Behaviour {
	var mu sync.Mutex
	var asked *Request
	var count uint64
	var known bool
	return Behaviour(func(c *Call, next Answerer) Answer {
		tx := decode(c.text(0))
		mu.Lock()
		if asked != c.request {
			asked = c.request
			count, known = c.count(tx.From, latest)
		}
		over := known && tx.Nonce >= count+most
		mu.Unlock()
		if over {
			return c.refuse(-32003, "%s", refusal)
		}
		return next(c)
	}).On(sendRaw)
}

// NoGaps is a sequencer without a pool: it takes the next nonce alone, and has to have carried out the last.
func NoGaps() Behaviour {
	return Behaviour(func(c *Call, next Answerer) Answer {
		tx := decode(c.text(0))
		if count, known := c.count(tx.From, latest); known && tx.Nonce > count {
			return c.refuse(-32000, "nonce too high: address %s, tx: %d state: %d", tx.From, tx.Nonce, count)
		}
		return next(c)
	}).On(sendRaw)
}

// count asks the node for an account's nonce.
func (c *Call) count(account, tag string) (n uint64, known bool) {
	var text string
	a := c.request.provider.node().ask(c.request.ctx, "eth_getTransactionCount", encoded(account), encoded(tag))
	if a.Err != nil || json.Unmarshal(a.Result, &text) != nil {
		return 0, false
	}
	return parseHex(text)
}

// Refuses refuses every transaction, for a reason of the provider's.
func Refuses(code int, text string) Behaviour {
	return Behaviour(func(c *Call, _ Answerer) Answer { return c.refuse(code, "%s", text) }).On(sendRaw)
}

// Swallow accepts transactions and passes none on, while the switch is on. With shown, it says that they
// are in its pool.
func Swallow(s *Switch, shown bool) Behaviour {
	var mu sync.Mutex
	kept := map[string]Transaction{}
	return func(c *Call, next Answerer) Answer {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case c.is(sendRaw) && s.IsOn():
			tx := decode(c.text(0))
			kept[tx.Hash] = tx
			return c.changed(result(tx.Hash))
		case c.is("eth_getTransactionByHash") && s.IsOn() && shown:
			if tx, is := kept[c.text(0)]; is {
				return c.changed(result(tx.fields("", 0, 0)))
			}
		}
		return next(c)
	}
}

// Forgets accepts the transactions of each nonce so many times before it passes one on.
func Forgets(times int) Behaviour {
	var mu sync.Mutex
	seen := map[uint64]int{} // of one account: a test uses a provider for one
	return Behaviour(func(c *Call, next Answerer) Answer {
		mu.Lock()
		defer mu.Unlock()
		tx := decode(c.text(0))
		if seen[tx.Nonce]++; seen[tx.Nonce] <= times {
			return c.changed(result(tx.Hash))
		}
		return next(c)
	}).On(sendRaw)
}

// NoReplacement keeps the first transaction of each nonce while the switch is on, and refuses any other.
// What it has kept reaches the node with the first call after that.
func NoReplacement(s *Switch, refusal string) Behaviour {
	var mu sync.Mutex
	var kept []*Call
	return func(c *Call, next Answerer) Answer {
		mu.Lock()
		defer mu.Unlock()
		if !s.IsOn() {
			for _, late := range kept {
				next(late.of(c.request))
			}
			kept = nil
			return next(c)
		}
		if c.is("eth_getTransactionByHash") {
			for _, k := range kept {
				if tx := decode(k.text(0)); tx.Hash == c.text(0) {
					return c.changed(result(tx.fields("", 0, 0)))
				}
			}
		}
		if !c.is(sendRaw) {
			return next(c)
		}
		tx := decode(c.text(0))
		for _, k := range kept {
			switch old := decode(k.text(0)); {
			case old.Hash == tx.Hash:
				return c.changed(Answer{Err: &RPCError{Code: -32000, Message: "already known"}})
			case old.Nonce == tx.Nonce && strings.EqualFold(old.From, tx.From):
				return c.refuse(-32000, "%s", refusal)
			}
		}
		kept = append(kept, c)
		return c.changed(result(tx.Hash))
	}
}

// of returns the call as one of another request.
func (c *Call) of(r *Request) *Call {
	out := *c
	out.Params, out.request = slices.Clone(c.Params), r
	return &out
}

// HiddenPool does not show what is in its pool.
func HiddenPool() Behaviour {
	return Behaviour(func(c *Call, next Answerer) Answer {
		a := next(c)
		if _, in := a.number("blockNumber"); in || a.empty() {
			return a
		}
		return c.changed(Answer{Result: null})
	}).On("eth_getTransactionByHash")
}

// CountsPool counts what is in the pool as if it were in the chain.
func CountsPool() Behaviour {
	return Behaviour(func(c *Call, next Answerer) Answer {
		tag, at, _ := c.blockTag()
		if tag != latest {
			return next(c)
		}
		return c.changed(next(c.with(at, "pending")))
	}).On("eth_getTransactionCount")
}

// Cached answers a method from a cache for some time.
func Cached(method string, life time.Duration) Behaviour {
	type entry struct {
		answer Answer
		since  time.Time
	}
	var mu sync.Mutex
	cache := map[string]entry{}
	return Behaviour(func(c *Call, next Answerer) Answer {
		mu.Lock()
		defer mu.Unlock()
		key := string(encoded(c.Params))
		if had, is := cache[key]; is && time.Since(had.since) < life {
			return c.changed(had.answer)
		}
		a := next(c)
		cache[key] = entry{a, time.Now()}
		return a
	}).On(method)
}
