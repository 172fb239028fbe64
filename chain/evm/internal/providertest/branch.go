package providertest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// branch is a dead branch of the chain: blocks that the chain does not have, from a fork on. A
// backend on it is stuck there for ever. Its blocks exist only in its answers.
type branch struct {
	fork   uint64                   // the last block that it has in common with the chain
	length uint64                   // its blocks above the fork
	in     map[uint64][]Transaction // its transactions, by height
}

// branchMark begins the hash of each of its blocks. The height is the end.
const branchMark = "0xdeadb10c"

func (b *branch) tip() uint64 { return b.fork + b.length }

func (b *branch) hash(height uint64) string { return fmt.Sprintf("%s%056x", branchMark, height) }

// heightOf returns the height of a block of the branch from its hash.
func (b *branch) heightOf(hash string) (uint64, bool) {
	if len(hash) != hashText || !strings.HasPrefix(hash, branchMark) {
		return 0, false
	}
	height, known := parseHex("0x" + hash[len(branchMark):])
	return height, known && height > b.fork && height <= b.tip()
}

// DeadBranch answers as a backend on the branch that the test has aimed at. Without one it is healthy.
func DeadBranch(c *Call, next Answerer) Answer {
	b := c.request.provider.aimed().branch
	if b == nil {
		return next(c)
	}
	switch {
	case c.is("eth_blockNumber"):
		return c.changed(result(hex(b.tip())))
	case c.is("eth_getTransactionByHash", "eth_getTransactionReceipt"):
		return b.transaction(c, next)
	case c.is("eth_getBlockByHash", "eth_getHeaderByHash"):
		if height, own := b.heightOf(c.text(0)); own {
			return c.changed(b.block(c, next, height))
		}
		if height, known := c.request.height(c.text(0)); known && height > b.fork {
			return c.changed(Answer{Result: null})
		}
	}
	tag, at, has := c.blockTag()
	if !has || tag == "pending" {
		return next(c)
	}
	height, own := b.heightOf(tag)
	if !own {
		height, own = b.named(c, tag)
	}
	switch {
	case !own:
		return next(c)
	case height > b.tip():
		return c.changed(unknownBlock(c))
	case c.is("eth_getBlockByNumber", "eth_getHeaderByNumber"):
		return c.changed(b.block(c, next, height))
	case c.is("eth_getBlockReceipts"):
		return c.changed(b.receipts(height))
	case c.is("eth_getTransactionCount"):
		return c.changed(b.count(c, next(c.with(at, hex(b.fork))), height))
	}
	return c.changed(next(c.with(at, hex(b.fork)))) // the state of the fork
}

// named returns the height on the branch that a tag or number means, if the branch differs there. A
// block of the chain above the fork is one that the branch does not have.
func (b *branch) named(c *Call, tag string) (height uint64, differs bool) {
	switch tag {
	case latest, "safe":
		return b.tip(), true
	case finalized:
		return min(c.request.final(), b.fork), false
	}
	height, known := c.request.height(tag)
	if known && len(tag) == hashText {
		height = b.tip() + 1
	}
	return height, known && height > b.fork
}

// block makes a block of the branch from the fork's.
func (b *branch) block(c *Call, next Answerer, height uint64) Answer {
	ask := *c
	ask.Method, ask.Params = "eth_getHeaderByNumber", []json.RawMessage{encoded(hex(b.fork))}
	header := c.is("eth_getHeaderByNumber", "eth_getHeaderByHash")
	if !header {
		ask.Method, ask.Params = "eth_getBlockByNumber", append(ask.Params, encoded(false))
	}
	full := !header && len(c.Params) > 1 && string(c.Params[1]) == "true"
	parent := b.hash(height - 1)
	base := next(&ask)
	if height == b.fork+1 {
		_ = json.Unmarshal(base.fields()["hash"], &parent) // a fork that the node lacks has no hash
	}
	fields := map[string]any{"number": hex(height), "hash": b.hash(height), "parentHash": parent}
	if !header {
		list := []any{}
		for i, tx := range b.in[height] {
			if full {
				list = append(list, tx.fields(b.hash(height), height, i))
			} else {
				list = append(list, tx.Hash)
			}
		}
		fields["transactions"], fields["withdrawals"] = list, []any{}
	}
	return base.put(fields)
}

// transaction answers for a hash: what is above the fork in the chain is unknown to the branch.
func (b *branch) transaction(c *Call, next Answerer) Answer {
	for height := b.fork + 1; height <= b.tip(); height++ {
		for i, tx := range b.in[height] {
			switch {
			case tx.Hash != c.text(0):
			case c.is("eth_getTransactionByHash"):
				return c.changed(result(tx.fields(b.hash(height), height, i)))
			default:
				return c.changed(result(b.receipt(tx, height, i)))
			}
		}
	}
	a := next(c)
	if height, in := a.number("blockNumber"); in && height > b.fork {
		return c.changed(Answer{Result: null})
	}
	return a
}

func (b *branch) receipt(tx Transaction, height uint64, index int) map[string]any {
	return map[string]any{
		"transactionHash": tx.Hash, "transactionIndex": hex(uint64(index)), "blockHash": b.hash(height), "blockNumber": hex(height),
		"from": tx.From, "status": "0x1", "type": "0x2", "gasUsed": hex(21_000), "cumulativeGasUsed": hex(21_000), "logs": []any{},
	}
}

func (b *branch) receipts(height uint64) Answer {
	list := []any{}
	for i, tx := range b.in[height] {
		list = append(list, b.receipt(tx, height, i))
	}
	return result(list)
}

// count adds the transactions of the branch to the account's count at the fork.
func (b *branch) count(c *Call, atFork Answer, height uint64) Answer {
	var text string
	_ = json.Unmarshal(atFork.Result, &text) // an error of the node has no result
	n, counted := parseHex(text)
	if !counted {
		return atFork
	}
	for at := b.fork + 1; at <= height; at++ {
		for _, tx := range b.in[at] {
			if strings.EqualFold(tx.From, c.text(0)) {
				n = max(n, tx.Nonce+1)
			}
		}
	}
	return result(hex(n))
}
