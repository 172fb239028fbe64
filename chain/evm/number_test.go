package evm_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// counter is a node that gives the same number everywhere: as block number, nonce and next nonce.
type counter struct {
	count    string
	untagged bool // it lacks the tag "finalized"
}

var (
	counted = make(hexutil.Bytes, 32) // hash of every block and transaction of a counter
	sender  = make(hexutil.Bytes, 20)
)

func (n counter) say(method string, params []json.RawMessage) any {
	tx := map[string]any{"hash": counted, "from": sender, "nonce": n.count, "blockHash": counted, "blockNumber": n.count}
	switch {
	case method == "eth_getTransactionCount":
		return n.count
	case method == "eth_blockNumber":
		return "0x9"
	case method == "eth_getTransactionByHash":
		return tx
	case method == "eth_sendRawTransaction":
		return hexutil.Bytes("h")
	case method == "eth_getTransactionReceipt":
		return map[string]any{"transactionHash": counted, "from": sender, "blockHash": counted, "status": "0x1"}
	case method == "eth_getBlockReceipts":
		return []any{n.say("eth_getTransactionReceipt", nil)}
	case method == "eth_getBlockByNumber" && string(params[0]) == `"finalized"` && n.untagged:
		return errors.New("no such tag")
	case method == "eth_getBlockByNumber", method == "eth_getBlockByHash":
		block, _ := healthy("eth_getBlockByNumber", nil).(map[string]any)
		block["number"], block["transactions"] = n.count, []any{tx}
		return block
	}
	return healthy(method, params)
}

// A number above 2^63 - 1 is no answer. It would be stored as a negative one, and pending gives
// away no nonce below the highest that it was ever told.
func TestAbsurdCounts(t *testing.T) {
	t.Parallel()
	block, a := chain.Block{Number: 1<<63 - 1, Hash: chain.Hash(counted)}, chain.Account(sender)
	for name, ask := range map[string]func(tagged, untagged *evm.Chain) error{
		"next": func(c, _ *evm.Chain) error {
			_, err := c.Next(t.Context(), a)
			return err
		},
		"a nonce in a block": func(c, _ *evm.Chain) error {
			_, err := c.Inclusions(t.Context(), block, []chain.Account{a})
			return err
		},
		"a nonce beside a receipt": func(c, _ *evm.Chain) error {
			c.Submit(t.Context(), []chain.Signed{{Hash: "h"}})
			_, err := c.Inclusions(t.Context(), block, []chain.Account{a})
			return err
		},
		"the block of a probe": func(c, _ *evm.Chain) error {
			_, err := c.Probe(t.Context(), []chain.Hash{chain.Hash(counted)})
			return err
		},
		"a head": func(c, _ *evm.Chain) error {
			for _, err := range c.Heads(t.Context(), chain.Block{}) {
				return err
			}
			return nil
		},
	} {
		for count, want := range map[string]error{
			"0x7fffffffffffffff": nil, "0x8000000000000000": chain.ErrAnswer, "0xffffffffffffffff": chain.ErrAnswer,
		} {
			tagged := open(t, evm.Config{ChainID: 1337, URL: serve(t, counter{count: count}.say)})
			untagged := open(t, evm.Config{ChainID: 1337, URL: serve(t, counter{count: count, untagged: true}.say), Depth: 1})
			if err := ask(tagged, untagged); !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("%s of %s: got error %v, want %v", name, count, err, want)
			}
		}
	}
}
