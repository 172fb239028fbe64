//go:build unix

package main_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
)

// emits is the code of a contract that logs a topic while it is made.
const emits = "0x600760006000a100"

// receiptOf returns the receipt of a transaction as the API tells it, nil if it tells none.
func receiptOf(t *testing.T, api, id string) map[string]any {
	t.Helper()
	r, _ := shown(t, api, id)["receipt"].(map[string]any)
	return r
}

// A contract, a call that has no effect and a payment: their receipts say what the chain's node says, and their fees together what the
// account has paid. The receipt of a block that has left the chain is not shown, and that of the next one is (S24).
func TestReceiptsOnAChain(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db, chain := migrated(t), startDevnode(t, "--block-time", "0", "--finality", "4")
	n := senderAt(t, "n1", db.URL, chain.ws(), "", "finality = 2", "finality = 4")
	api := n.api()
	had := accountAsTold(t, api)
	var ids []string
	for _, body := range []string{
		`{"account":"payer","data":"` + emits + `","gas":100000}`,
		`{"account":"payer","data":"0xfe","gas":100000}`,
		`{"account":"payer","to":"0x00000000000000000000000000000000000000aa","value":"1000"}`,
	} {
		code, answer := post(t, api+"/v1/transactions", body)
		if code != 202 {
			t.Fatalf("%s: %d %v", body, code, answer)
		}
		ids = append(ids, answer["id"].(string))
	}
	until(t, "all are in the pool", func() bool { ready, _ := chain.pooled(); return ready == 3 })
	chain.mine(1)
	all := func() bool {
		for _, id := range ids {
			if receiptOf(t, api, id) == nil {
				return false
			}
		}
		return true
	}
	until(t, "each has a receipt", all)
	sameAsTheChains(t, chain, api, ids)

	chain.call("dev_reorg", "0x1", [][]string{{}, {}})
	until(t, "they have left their block", func() bool { return shown(t, api, ids[0])["block"] == nil })
	for _, id := range ids {
		if is := shown(t, api, id); is["block"] == nil && (is["receipt"] != nil || is["receipt_unknown"] != nil) {
			t.Errorf("it is in no block, and is told to have done something: %v", is)
		}
	}
	until(t, "all are in the pool again", func() bool { ready, _ := chain.pooled(); return ready == 3 })
	chain.mine(1)
	until(t, "each has a receipt again", all)
	chain.mine(6)
	until(t, "all are final", func() bool { return shown(t, api, ids[2])["outcome"] == "succeeded" })
	paid := sameAsTheChains(t, chain, api, ids)
	has := accountAsTold(t, api)
	if lost := new(big.Int).Sub(integerOf(t, had["balance"]), integerOf(t, has["balance"])); lost.Cmp(paid.Add(paid, big.NewInt(1000))) != 0 || has["nonce"] != 3.0 || has["next_nonce"] != 3.0 || has["leads"] != any(true) {
		t.Errorf("the account had %v and has %v, and has paid %v by its receipts and transfers", had, has, paid)
	}
	text := conch(t, "tx", "show", ids[0], "--node", api).done(t)
	for _, want := range []string{"receipt  succeeded, fee ", ", logs: 1\n", "contract 0x", "ATTEMPT ", "in a block"} {
		if !strings.Contains(text, want) {
			t.Errorf("conch tx show prints %s, want it to say %q", text, want)
		}
	}
	text = conch(t, "tx", "accounts", "--node", api).done(t)
	if got := strings.Join(strings.Fields(text), " "); !strings.HasSuffix(got, fmt.Sprint("payer evm:1337 ", fundedAddress, " ", has["balance"], " 3 3 0 0 0 here -")) {
		t.Errorf("conch tx accounts prints %s", text)
	}
}

// sameAsTheChains compares the receipts of a contract, a call without effect and a payment with those of the chain's node, and returns the sum of
// their fees.
func sameAsTheChains(t *testing.T, chain *devnode, api string, ids []string) *big.Int {
	t.Helper()
	paid := new(big.Int)
	for i, id := range ids {
		is, told := shown(t, api, id), receiptOf(t, api, id)
		truth, _ := chain.call("eth_getTransactionReceipt", is["hash"]).(map[string]any)
		gas, price := integerOf(t, truth["gasUsed"]), integerOf(t, truth["effectiveGasPrice"])
		fee := new(big.Int).Mul(gas, price)
		paid.Add(paid, fee)
		status := map[string]string{"0x0": "reverted", "0x1": "succeeded"}[truth["status"].(string)]
		if told["gas_used"] != float64(gas.Int64()) || told["effective_gas_price"] != price.String() || told["fee"] != fee.String() || told["status"] != status {
			t.Errorf("%d: the API says %v, the chain %v", i, told, truth)
		}
		if created := told["contract_address"]; (i == 0) != (created != nil) || i == 0 && created != truth["contractAddress"] {
			t.Errorf("%d: the contract is %v, by the chain %v", i, created, truth["contractAddress"])
		}
		if logs := told["logs"].([]any); (i == 0) != (len(logs) == 1) || i == 0 && fmt.Sprint(logs[0].(map[string]any)["topics"]) != fmt.Sprintf("[0x%064x]", 7) {
			t.Errorf("%d: logs %v, by the chain %v", i, logs, truth["logs"])
		}
		if tried := is["attempts"].([]any); len(tried) != 1 || tried[0].(map[string]any)["hash"] != is["hash"] || tried[0].(map[string]any)["in_block"] != any(true) {
			t.Errorf("%d: attempts %v", i, tried)
		}
	}
	return paid
}

func accountAsTold(t *testing.T, api string) (is map[string]any) {
	t.Helper()
	until(t, "the account's balance is known", func() bool {
		code, body := get(t, api+"/v1/accounts/payer")
		is = body
		return code == 200 && body["balance"] != nil
	})
	return is
}

func integerOf(t *testing.T, text any) *big.Int {
	t.Helper()
	n, is := new(big.Int).SetString(fmt.Sprint(text), 0)
	if !is {
		t.Fatalf("%v is no number", text)
	}
	return n
}
