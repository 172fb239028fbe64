package providertest

import "encoding/json"

// NoIndex is a node without an index of transactions: what is in a block it does not find by its hash.
func NoIndex() Behaviour {
	return Behaviour(func(c *Call, next Answerer) Answer {
		a := next(c)
		if _, in := a.number("blockNumber"); !in {
			return a
		}
		return c.changed(Answer{Result: null})
	}).On("eth_getTransactionByHash", "eth_getTransactionReceipt")
}

// Indexing is a node that still makes its index: it has an error for each transaction in a block.
func Indexing() Behaviour {
	return Behaviour(func(c *Call, next Answerer) Answer {
		a := next(c)
		if _, in := a.number("blockNumber"); !in {
			return a
		}
		return c.refuse(-32000, "transaction indexing is in progress")
	}).On("eth_getTransactionByHash", "eth_getTransactionReceipt")
}

// LateReceipts has the receipts of a block only once so many blocks are above it.
func LateReceipts(after uint64) Behaviour {
	return func(c *Call, next Answerer) Answer {
		switch c.Method {
		case "eth_getTransactionReceipt":
			a := next(c)
			if height, in := a.number("blockNumber"); in && height+after > c.request.head() {
				return c.changed(Answer{Result: null})
			}
			return a
		case "eth_getBlockReceipts", "debug_getRawReceipts":
			tag, _, _ := c.blockTag()
			if height, known := c.request.height(tag); known && height+after > c.request.head() {
				return c.changed(Answer{Result: null})
			}
		}
		return next(c)
	}
}

// eachReceipt changes the receipts in the answers to both methods that have them.
func eachReceipt(change func(Answer) Answer) Behaviour {
	return func(c *Call, next Answerer) Answer {
		switch c.Method {
		case "eth_getTransactionReceipt":
			if a := next(c); !a.empty() && a.Err == nil {
				return c.changed(change(a))
			}
		case "eth_getBlockReceipts":
			a := next(c)
			var list []json.RawMessage
			if json.Unmarshal(a.Result, &list) != nil || len(list) == 0 {
				return a
			}
			for i, one := range list {
				list[i] = change(Answer{Result: one}).Result
			}
			return c.changed(Answer{Result: encoded(list)})
		}
		return next(c)
	}
}

// ReceiptsElsewhere names another block in each receipt.
func ReceiptsElsewhere() Behaviour {
	return eachReceipt(func(a Answer) Answer { return a.put(map[string]any{"blockHash": forged("5")}) })
}

// ReceiptsWithout leaves a field out of each receipt.
func ReceiptsWithout(field string) Behaviour {
	return eachReceipt(func(a Answer) Answer {
		fields := a.fields()
		delete(fields, field)
		return Answer{Result: encoded(fields)}
	})
}

// SystemTransactions puts a transaction into each block that no sender signed and that Ethereum's
// libraries cannot decode, as rollups have them.
func SystemTransactions() Behaviour {
	return func(c *Call, next Answerer) Answer {
		switch c.Method {
		case "eth_getBlockByNumber", "eth_getBlockByHash":
			a := next(c)
			var list []json.RawMessage
			if json.Unmarshal(a.fields()["transactions"], &list) != nil {
				return a
			}
			own := encoded(systemHash)
			if len(c.Params) > 1 && string(c.Params[1]) == "true" {
				own = encoded(map[string]any{
					"type": "0x7e", "hash": systemHash, "from": systemSender, "nonce": "0x0", "sourceHash": forged("6"),
					"mint": "0x0", "value": "0x0", "input": "0x", "gas": hex(1_000_000), "isSystemTx": true,
				})
			}
			return c.changed(a.put(map[string]any{"transactions": append([]json.RawMessage{own}, list...)}))
		case "eth_getBlockReceipts":
			a := next(c)
			var list []json.RawMessage
			if json.Unmarshal(a.Result, &list) != nil || a.empty() {
				return a
			}
			own := encoded(map[string]any{"transactionHash": systemHash, "from": systemSender, "type": "0x7e", "status": "0x1"})
			return c.changed(Answer{Result: encoded(append([]json.RawMessage{own}, list...))})
		}
		return next(c)
	}
}

var systemHash = forged("7")

const systemSender = "0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001"

// Elsewhere answers for another chain, while the switch is on: the one that the test has aimed at.
func Elsewhere() Behaviour {
	return func(c *Call, next Answerer) Answer {
		other := c.request.provider.aimed().other
		if other == nil {
			return next(c)
		}
		return c.changed(other.ask(c.request.ctx, c.Method, c.Params...))
	}
}
