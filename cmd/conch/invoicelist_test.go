//go:build unix

package main_test

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// invoiceList has the amount of each invoice, in wei, by the address that is paid.
type invoiceList map[string]*big.Int

// drawInvoices draws invoices of different amounts, each to an address of its own, and returns them also as a file.
func drawInvoices(random *rand.Rand, many int) (all invoiceList, file string) {
	all = invoiceList{}
	var lines strings.Builder
	for n := range many {
		hash := sha256.Sum256(fmt.Appendf(nil, "payee %d %d", n, random.Uint64()))
		to := fmt.Sprintf("0x%x", hash[:20])
		wei := new(big.Int).Mul(big.NewInt(1+random.Int64N(1e18)), big.NewInt(1+random.Int64N(100))) // more than 64 bits, some of them
		all[to] = wei
		fmt.Fprintf(&lines, "invoice-%d,%s,%v\n", n, to, wei)
	}
	return all, lines.String()
}

// judge reads every block and the balances after the last: each address was paid once and has the amount of its
// invoice, and the account has less by these amounts and by the gas of its transactions, to the wei. It returns the
// sum of the amounts, as the chain has it.
func (l invoiceList) judge(t *testing.T, chain *devnode, before *big.Int) (paid *big.Int) {
	t.Helper()
	head := number(t, chain.call("eth_blockNumber"))
	times, fees, fillers := map[string]int{}, new(big.Int), 0
	paid = new(big.Int)
	for n := range head + 1 {
		costs := map[any]*big.Int{} // by the transaction's hash
		for _, r := range chain.call("eth_getBlockReceipts", hexed(n)).([]any) {
			receipt := r.(map[string]any)
			costs[receipt["transactionHash"]] = new(big.Int).Mul(quantity(t, receipt["gasUsed"]), quantity(t, receipt["effectiveGasPrice"]))
			if receipt["status"] != "0x1" {
				t.Errorf("block %d: transaction %v failed", n, receipt["transactionHash"])
			}
		}
		block := chain.call("eth_getBlockByNumber", hexed(n), true).(map[string]any)
		for _, x := range block["transactions"].([]any) {
			tx := x.(map[string]any)
			if tx["from"] != fundedAddress {
				t.Errorf("block %d has a transaction of %v, want only those of the account", n, tx["from"])
			}
			fees.Add(fees, costs[tx["hash"]])
			if tx["to"] == fundedAddress {
				fillers++
			}
			times[fmt.Sprint(tx["to"])]++
			paid.Add(paid, quantity(t, tx["value"]))
		}
	}
	owed := new(big.Int)
	for to, wei := range l {
		owed.Add(owed, wei)
		if has := quantity(t, chain.call("eth_getBalance", to, hexed(head))); times[to] != 1 || has.Cmp(wei) != 0 {
			t.Errorf("%s was paid %d times and has %v wei, want once and %v", to, times[to], has, wei)
		}
		delete(times, to)
	}
	if delete(times, fundedAddress); len(times) > 0 {
		t.Errorf("others were paid as well: %v", times)
	}
	if paid.Cmp(owed) != 0 {
		t.Errorf("%v wei were paid, want %v", paid, owed)
	}
	lost := new(big.Int).Sub(before, quantity(t, chain.call("eth_getBalance", fundedAddress, hexed(head))))
	if want := new(big.Int).Add(paid, fees); lost.Cmp(want) != 0 {
		t.Errorf("the account lost %v wei, want %v: %v paid and %v for gas", lost, want, paid, fees)
	}
	t.Logf("%v wei to %d addresses and %v wei for gas, in %d blocks; %d fillers", paid, len(l), fees, head, fillers)
	return paid
}
