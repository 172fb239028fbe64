package evm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

var receiptOf = chain.Inclusion{
	Account: chain.Account(strings.Repeat("\x01", 20)), Index: 3, Hash: chain.Hash(strings.Repeat("\xab", 32)),
	Block: chain.Block{Number: 9, Hash: chain.Hash(strings.Repeat("\xcd", 32))}, Effect: chain.EffectOf(false),
}

// with returns a whole receipt with other fields; nil takes one out.
func with(fields map[string]any) map[string]any {
	r := map[string]any{
		"transactionHash": receiptOf.Hash, "blockHash": receiptOf.Block.Hash, "blockNumber": "0x9", "from": receiptOf.Account, "status": "0x1",
		"gasUsed": "0x5208", "effectiveGasPrice": "0xa", "contractAddress": nil, "logs": []any{}, "type": "0x2",
	}
	maps.Copy(r, fields)
	maps.DeleteFunc(r, func(name string, value any) bool { return value == nil })
	return r
}

// manyLogs returns so many logs, each of 20 and 32 bytes and as many as its data have.
func manyLogs(n, data int) (all []any) {
	for range n {
		all = append(all, map[string]any{"address": receiptOf.Account, "topics": []chain.Hash{receiptOf.Hash}, "data": hexutil.Bytes(make([]byte, data))})
	}
	return all
}

// A receipt is read as the endpoint gives it for the very transaction and block, and is refused if it is not whole: what is missing is
// neither 0 nor none.
func TestReceipt(t *testing.T) {
	t.Parallel()
	contract := chain.Account(strings.Repeat("\x02", 20))
	failed := receiptOf
	failed.Effect = chain.EffectOf(true)
	for name, c := range map[string]struct {
		of   chain.Inclusion
		says any
		want string // "fee created logs kept", or a part of the error after !
		err  error
	}{
		"plain":                   {receiptOf, with(nil), "210000 - 0 0", nil},
		"with a fee for its data": {receiptOf, with(map[string]any{"l1Fee": "0x7"}), "210007 - 0 0", nil},
		"a contract":              {receiptOf, with(map[string]any{"contractAddress": contract}), "210000 " + contract.String() + " 0 0", nil},
		"a contract that failed":  {failed, with(map[string]any{"status": "0x0", "contractAddress": contract}), "210000 - 0 0", nil},
		"logs":                    {receiptOf, with(map[string]any{"logs": manyLogs(3, 100)}), "210000 - 3 3", nil},
		"too large":               {receiptOf, with(map[string]any{"logs": manyLogs(100, 1000)}), fmt.Sprintf("210000 - 100 %d", chain.MostLogs/1052), nil},
		"of another block":        {receiptOf, with(map[string]any{"blockHash": failed.Hash}), "!in block 9, 0xabab", chain.ErrNotFound},
		"of another height":       {receiptOf, with(map[string]any{"blockNumber": "0xa"}), "!in block 10", chain.ErrNotFound},
		"of another transaction":  {receiptOf, with(map[string]any{"transactionHash": receiptOf.Block.Hash}), "!returns that of", chain.ErrAnswer},
		"of somebody else's":      {receiptOf, with(map[string]any{"from": contract}), "!returns that of", chain.ErrAnswer},
		"it failed there":         {receiptOf, with(map[string]any{"status": "0x0"}), "!the status 0", chain.ErrDisagree},
		"it did not fail there":   {failed, with(nil), "!the status 1", chain.ErrDisagree},
		"none":                    {receiptOf, nil, "!has no receipt", chain.ErrNotFound},
		"without a status":        {receiptOf, with(map[string]any{"status": nil}), "!not complete", chain.ErrAnswer},
		"without a price":         {receiptOf, with(map[string]any{"effectiveGasPrice": nil}), "!not complete", chain.ErrAnswer},
		"without gas":             {receiptOf, with(map[string]any{"gasUsed": nil}), "!not complete", chain.ErrAnswer},
		"without logs":            {receiptOf, with(map[string]any{"logs": nil}), "!not complete", chain.ErrAnswer},
		"without a block":         {receiptOf, with(map[string]any{"blockHash": nil}), "!not complete", chain.ErrAnswer},
		"no receipt at all":       {receiptOf, "0x", "!cannot be read", chain.ErrAnswer},
		"an error":                {receiptOf, errors.New("the trie is on fire"), "!the trie is on fire", chain.ErrAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, func(method string, params []json.RawMessage) any {
				if method != "eth_getTransactionReceipt" {
					return healthy(method, params)
				}
				if got := string(params[0]); got != `"`+receiptOf.Hash.String()+`"` {
					return errors.New("asked for " + got)
				}
				return c.says
			})
			r, err := open(t, evm.Config{ChainID: 1337, URL: url}).Receipt(t.Context(), c.of)
			want, fails := strings.CutPrefix(c.want, "!")
			if fails {
				if !errors.Is(err, c.err) || !strings.Contains(err.Error(), want) {
					t.Errorf("got %+v, %v, want an error with %q", r, err, want)
				}
				return
			}
			created := "-"
			if r.Created != "" {
				created = r.Created.String()
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%v %s %d %d", r.Fee(), created, r.AllLogs, len(r.Logs)); r.Inclusion != c.of || r.By != [2]string{url} || got != want {
				t.Errorf("got %s, want %s: %+v", got, want, r)
			}
		})
	}
}

// A backend that lacks the block does not mean that there is no receipt; nor does one that lacks the head that no balance is known.
func TestABackendThatIsBehindIsAskedAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
		switch method {
		case "eth_getTransactionReceipt":
			if asked.Add(1) < 3 {
				return nil
			}
			return with(nil)
		case "eth_getBalance", "eth_getTransactionCount":
			if as := string(params[1]); as != `{"blockHash":"0x`+strings.Repeat("0", 64)+`"}` {
				return errors.New("asked as of " + as)
			}
			if asked.Add(1) < 3 {
				return errors.New("header not found")
			}
			return "0x5"
		}
		return healthy(method, params)
	})})
	if _, err := c.Receipt(t.Context(), receiptOf); err != nil {
		t.Error(err)
	}
	asked.Store(0)
	got, err := c.AccountStates(t.Context(), []chain.Account{receiptOf.Account})
	if err != nil || got[0].Balance.Int64() != 5 || got[0].Next != 5 || got[0].Account != receiptOf.Account {
		t.Errorf("got %+v, %v", got, err)
	}
}

// What an endpoint leaves out of how an account stands is not 0, and a count that cannot be is none.
func TestAnAccountOfWhichNothingIsSaid(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]map[string]any{
		"no balance":       {"eth_getTransactionCount": "0x1"},
		"no count":         {"eth_getBalance": "0x1"},
		"a count too high": {"eth_getBalance": "0x1", "eth_getTransactionCount": "0xffffffffffffffff"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, evm.Config{ChainID: 1337, URL: serve(t, func(method string, params []json.RawMessage) any {
				if method == "eth_getBalance" || method == "eth_getTransactionCount" {
					return says[method]
				}
				return healthy(method, params)
			})})
			if got, err := c.AccountStates(t.Context(), []chain.Account{receiptOf.Account}); !errors.Is(err, chain.ErrAnswer) {
				t.Errorf("got %+v, %v, want an error", got, err)
			}
		})
	}
}
