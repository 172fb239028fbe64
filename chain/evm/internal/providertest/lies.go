package providertest

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// Once tells a lie in the first answer that it fits, after the switch was turned on.
func Once(s *Switch, fits func(*Call, Answer) bool, lie func(*Call, Answer) Answer) Behaviour {
	return func(c *Call, next Answerer) Answer {
		a := next(c)
		if a.Err != nil || !s.IsOn() || !fits(c, a) || !s.take() {
			return a
		}
		return c.changed(lie(c, a))
	}
}

// asks returns a test for a call of a method with a tag.
func asks(tag, method string) func(*Call, Answer) bool {
	return func(c *Call, _ Answer) bool {
		named, _, _ := c.blockTag()
		return named == tag && c.is(method)
	}
}

// looks returns a test for a call that asks for the block with a tag, in a request that asks for blocks
// alone: by such requests a program follows the chain. In any other a lie would be wasted.
func looks(tag string) func(*Call, Answer) bool {
	return func(c *Call, _ Answer) bool {
		named, _, _ := c.blockTag()
		other := func(c *Call) bool { return !c.is(headMethods...) }
		return named == tag && c.is(headMethods...) && !slices.ContainsFunc(c.request.Calls, other)
	}
}

var headMethods = []string{"eth_getBlockByNumber", "eth_getHeaderByNumber"}

// LieCount adds to one answer about an account's nonce.
func LieCount(s *Switch, by uint64) Behaviour {
	return Once(s, asks(latest, "eth_getTransactionCount"), func(_ *Call, a Answer) Answer {
		var text string
		_ = json.Unmarshal(a.Result, &text) // without a number the lie is the whole
		n, _ := parseHex(text)
		return result(hex(n + by))
	})
}

// LieHead names once a head that is far above the real one and has no parent.
func LieHead(s *Switch, by uint64) Behaviour {
	return Once(s, looks(latest), func(_ *Call, a Answer) Answer {
		n, _ := a.number("number")
		return a.put(map[string]any{"number": hex(n + by), "hash": forged("1"), "parentHash": forged("2")})
	})
}

// LieFinal names once a final block that does not exist, as high as the head.
func LieFinal(s *Switch) Behaviour {
	return Once(s, looks(finalized), func(c *Call, a Answer) Answer {
		return a.put(map[string]any{"number": hex(c.request.head()), "hash": forged("3"), "parentHash": forged("4")})
	})
}

// LieRevert says once that a call reverts.
func LieRevert(s *Switch) Behaviour {
	return Once(s, func(c *Call, _ Answer) bool { return c.is("eth_estimateGas") }, func(*Call, Answer) Answer {
		return Answer{Err: &RPCError{Code: 3, Message: "execution reverted"}}
	})
}

// holdsAim reports whether the answer is a block with the transactions, and one of them is aimed at.
func holdsAim(c *Call, a Answer) bool {
	if !c.is("eth_getBlockByNumber", "eth_getBlockByHash") {
		return false
	}
	aim := c.request.provider.aimed()
	var list []struct{ From, Nonce string }
	if json.Unmarshal(a.fields()["transactions"], &list) != nil {
		return false // hashes alone
	}
	for _, tx := range list {
		if tx.Nonce == hex(aim.nonce) && strings.EqualFold(tx.From, aim.account.String()) {
			return true
		}
	}
	return false
}

// LieStranger puts into one block, before the transaction that is aimed at, one that nobody has signed:
// with the same account and nonce, and a hash of zeros.
func LieStranger(s *Switch) Behaviour {
	var mu sync.Mutex
	lied := "" // the block
	block := Once(s, holdsAim, func(c *Call, a Answer) Answer {
		mu.Lock()
		defer mu.Unlock()
		_ = json.Unmarshal(a.fields()["hash"], &lied) // a block has a hash
		aim := c.request.provider.aimed()
		var list []json.RawMessage
		_ = json.Unmarshal(a.fields()["transactions"], &list) // a block without a list gets one
		lie := encoded(map[string]any{"from": aim.account, "nonce": hex(aim.nonce), "hash": forged("0"), "type": "0x2"})
		return a.put(map[string]any{"transactions": append([]json.RawMessage{lie}, list...)})
	})
	// A backend that lies about a block lies about its receipts too.
	return func(c *Call, next Answerer) Answer {
		a := block(c, next)
		mu.Lock()
		defer mu.Unlock()
		if lied == "" || !c.is("eth_getBlockReceipts") || c.text(0) != lied {
			return a
		}
		var list []json.RawMessage
		_ = json.Unmarshal(a.Result, &list) // as above
		receipt := map[string]any{"transactionHash": forged("0"), "blockHash": lied, "status": "0x1", "from": c.request.provider.aimed().account}
		return c.changed(Answer{Result: encoded(append([]json.RawMessage{encoded(receipt)}, list...))})
	}
}

// RefuseOnce refuses one transaction that has not come before and that the node would take.
func RefuseOnce(s *Switch, text string) Behaviour {
	return Behaviour(func(c *Call, next Answerer) Answer {
		if !s.IsOn() || !c.request.provider.first(decode(c.text(0)).Hash) || !s.take() {
			return next(c)
		}
		return c.refuse(-32000, "%s", text)
	}).On(sendRaw)
}

// forged returns the hash of a block or transaction that does not exist.
func forged(digit string) string { return "0x" + strings.Repeat(digit, hashText-2) }
