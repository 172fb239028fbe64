package oldhead

import (
	"encoding/json"
	"slices"
	"strconv"
)

// places are those of the block in the parameters of a method.
var places = map[string]int{
	"eth_getBlockByNumber": 0, "eth_getHeaderByNumber": 0, "eth_getBlockReceipts": 0, "eth_getBlockTransactionCountByNumber": 0,
	"eth_call": 1, "eth_estimateGas": 1, "eth_getBalance": 1, "eth_getCode": 1, "eth_getTransactionCount": 1, "eth_feeHistory": 1,
	"eth_getStorageAt": 2,
}

// states are the methods that fail without the block; the others have no result then.
var states = []string{"eth_call", "eth_estimateGas", "eth_getBalance", "eth_getCode", "eth_getTransactionCount", "eth_feeHistory", "eth_getStorageAt"}

var null = json.RawMessage("null")

// answer answers as a node that has the old head. What it does not know of blocks it asks the real one.
func (h *held) answer(c call, ask func(call) answer) answer {
	if c.Method == "eth_blockNumber" {
		return answer{Version: "2.0", ID: c.ID, Result: hex(h.head)}
	}
	if at, has := places[c.Method]; has && at <= len(c.Params) {
		return h.atBlock(c, at, ask)
	}
	if c.Method == "eth_getLogs" && len(c.Params) == 1 {
		c.Params = []json.RawMessage{h.until(c.Params[0])}
	}
	return h.known(c, ask(c))
}

// atBlock answers a question that names a block.
func (h *held) atBlock(c call, at int, ask func(call) answer) answer {
	if at == len(c.Params) {
		c.Params = append(slices.Clone(c.Params), quoted("latest"))
	}
	var tag string
	if json.Unmarshal(c.Params[at], &tag) != nil {
		return ask(c) // by a hash that it has heard of
	}
	n := h.head
	switch tag {
	case "pending", "earliest":
		return ask(c)
	case "latest", "safe":
	case "finalized":
		n = h.final
	default:
		named, err := strconv.ParseUint(tag, 0, 64)
		if err != nil {
			return ask(c) // a hash
		}
		n = named
	}
	if n > h.head {
		if slices.Contains(states, c.Method) {
			return failure(c, "header not found")
		}
		return answer{Version: "2.0", ID: c.ID, Result: null}
	}
	c.Params = slices.Clone(c.Params)
	c.Params[at] = hex(n)
	return ask(c)
}

// until ends a search of the log at the old head.
func (h *held) until(query json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(query, &fields) != nil || fields["blockHash"] != nil {
		return query
	}
	for _, field := range []string{"fromBlock", "toBlock"} {
		var tag string
		_ = json.Unmarshal(fields[field], &tag)
		if n, err := strconv.ParseUint(tag, 0, 64); err != nil && tag != "earliest" || n > h.head {
			fields[field] = hex(h.head)
		}
	}
	out, _ := json.Marshal(fields) //nolint:errchkjson // it was read from JSON
	return out
}

// known takes out of an answer what the node cannot know yet.
func (h *held) known(c call, a answer) answer {
	field := "blockNumber"
	switch c.Method {
	case "eth_getBlockByHash", "eth_getHeaderByHash":
		field = "number"
	case "eth_getTransactionReceipt", "eth_getTransactionByHash":
	default:
		return a
	}
	n, in := a.number(field)
	if !in || n <= h.head {
		return a
	}
	if c.Method != "eth_getTransactionByHash" {
		return answer{Version: "2.0", ID: c.ID, Result: null}
	}
	var tx map[string]json.RawMessage // for this node it is in the pool
	_ = json.Unmarshal(a.Result, &tx) // it has a number
	for _, gone := range []string{"blockHash", "blockNumber", "blockTimestamp", "transactionIndex"} {
		tx[gone] = null
	}
	a.Result, _ = json.Marshal(tx) //nolint:errchkjson // it was read from JSON
	return a
}

func hex(n uint64) json.RawMessage { return quoted("0x" + strconv.FormatUint(n, 16)) }

func quoted(text string) json.RawMessage {
	out, _ := json.Marshal(text) //nolint:errchkjson // a text has a form
	return out
}
