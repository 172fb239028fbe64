package providertest

import "encoding/json"

// blockParam is the position of the parameter that names a block.
var blockParam = map[string]int{
	"eth_getBlockByNumber": 0, "eth_getHeaderByNumber": 0, "eth_getBlockReceipts": 0, "debug_getRawReceipts": 0,
	"eth_getTransactionCount": 1, "eth_getBalance": 1, "eth_getCode": 1, "eth_call": 1, "eth_estimateGas": 1,
	"eth_getStorageAt": 2,
}

// stateMethods need the state of their block, which a node may have pruned.
var stateMethods = []string{
	"eth_getTransactionCount", "eth_getBalance", "eth_getCode", "eth_call", "eth_estimateGas", "eth_getStorageAt",
}

const (
	latest    = "latest"
	finalized = "finalized"
)

// blockTag returns the tag, number or hash of the block that a call names, and its position.
func (c *Call) blockTag() (tag string, at int, has bool) {
	at, has = blockParam[c.Method]
	if !has {
		return "", 0, false
	}
	if at >= len(c.Params) {
		return latest, at, true
	}
	if tag = c.text(at); tag != "" {
		return tag, at, true
	}
	var named struct{ BlockHash, BlockNumber string } // EIP-1898
	_ = json.Unmarshal(c.Params[at], &named)          // anything else is an error that the node reports
	return named.BlockHash + named.BlockNumber, at, true
}

// heights are those of the node when a request first asked for them.
type heights struct {
	head, final *uint64
}

// head returns the height of the node's head.
func (r *Request) head() uint64 {
	if r.heights.head == nil {
		var text string
		_ = json.Unmarshal(r.provider.node().ask(r.ctx, "eth_blockNumber").Result, &text)
		n, _ := parseHex(text) // a node that is gone has no height
		r.heights.head = &n
	}
	return *r.heights.head
}

// final returns the height of the block that the node calls final, 0 if there is none.
func (r *Request) final() uint64 {
	if r.heights.final == nil {
		n, _ := r.provider.node().ask(r.ctx, "eth_getHeaderByNumber", encoded(finalized)).number("number")
		r.heights.final = &n
	}
	return *r.heights.final
}

// height returns the height of the block with a tag, number or hash, if there is one.
func (r *Request) height(tag string) (n uint64, known bool) {
	switch tag {
	case latest, "pending", "safe":
		return r.head(), true
	case finalized:
		return r.final(), true
	case "earliest":
		return 0, true
	}
	if len(tag) != hashText {
		return parseHex(tag)
	}
	return r.provider.node().ask(r.ctx, "eth_getHeaderByHash", encoded(tag)).number("number")
}

// hashText is the length of a hash in hexadecimal digits.
const hashText = 66
