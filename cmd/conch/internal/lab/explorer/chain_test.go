package explorer

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/rpc"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// ledgerOf is a chain of three blocks: the contract's creation, one entry that lands, and nothing. Each test spoils it.
type ledgerOf struct {
	blocks   []block
	receipts map[string][]receipt // by the block's number
	unspent  map[string]bool
}

func (l *ledgerOf) answer(method string, params []json.RawMessage) any {
	var first string
	if len(params) > 0 {
		_ = json.Unmarshal(params[0], &first) // of a call it is no text
	}
	switch method {
	case "eth_blockNumber":
		return rpc.Hex(uint64(len(l.blocks) - 1))
	case "eth_getTransactionCount":
		return "0x1"
	case "eth_getBlockByNumber":
		n, _ := rpc.Number(first)
		return l.blocks[n]
	case "eth_getBlockReceipts":
		return l.receipts[first]
	case "eth_call":
		var call struct{ Data string }
		_ = json.Unmarshal(params[0], &call)
		if l.unspent["0x"+strings.TrimPrefix(call.Data, unspentGetter)] {
			return hashOf(0).String()[:65] + "1"
		}
		return hashOf(0).String()
	}
	return nil
}

func newLedger(t *testing.T) (l *ledgerOf, want auditor.Entry) {
	t.Helper()
	e, want := given(1)
	creation, err := evm.Creation(ledger.Contract{Members: []ledger.Account{address(0xa1), address(0xb2)}, Committee: []ledger.Account{address(0xa1)}, Needed: 1, Domain: "d"})
	if err != nil {
		t.Fatal(err)
	}
	var landed receipt
	landed.TransactionHash = "0xt2"
	said(&landed, want, landedEvent, want.Payload, want.Attempt)
	want.Block = 1
	return &ledgerOf{
		blocks: []block{
			{Number: "0x0", Hash: "0xb0", Transactions: []transaction{{Hash: "0xt1", Input: hexOf(creation)}}},
			{Number: "0x1", Hash: "0xb1", ParentHash: "0xb0", Transactions: []transaction{{Hash: "0xt2", From: want.Sender, To: place, Input: hexOf(submitted(t, ledger.Sent{Entries: []ledger.Entry{e}}))}}},
			{Number: "0x2", Hash: "0xb2", ParentHash: "0xb1"},
		},
		receipts: map[string][]receipt{"0x0": {{TransactionHash: "0xt1", ContractAddress: place}}, "0x1": {landed}},
		unspent:  map[string]bool{want.Outputs[0].State: true},
	}, want
}

func (l *ledgerOf) read(t *testing.T) (auditor.Ledger, error) {
	t.Helper()
	return ReadContract(t.Context(), serving(t, l.answer), strings.ReplaceAll(place, "c0", "C0"), []string{hexOf([]byte(address(0xb2)))})
}

func TestAContractIsReadFromItsBlocks(t *testing.T) {
	t.Parallel()
	l, want := newLedger(t)
	got, err := l.read(t)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]bool{want.Outputs[0].State: true, want.Outputs[1].State: false}
	for _, s := range slices.Concat(want.Inputs, want.Reads) {
		states[s] = false
	}
	if !reflect.DeepEqual(got.Entries, []auditor.Entry{want}) || !reflect.DeepEqual(got.Unspent, states) || got.Blocks != 2 || len(got.Created.Members) != 2 {
		t.Errorf("got %+v, want the entry %+v and the states %v", got, want, states)
	}
}

// A chain that contradicts itself is an error: a verdict over it would prove nothing.
func TestAChainThatContradictsItself(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(l *ledgerOf){
		"a block of another branch":        func(l *ledgerOf) { l.blocks[2].ParentHash = "0xff" },
		"a block with another number":      func(l *ledgerOf) { l.blocks[1].Number = "0x7" },
		"a receipt is missing":             func(l *ledgerOf) { l.receipts["0x1"] = []receipt{} },
		"a receipt of another transaction": func(l *ledgerOf) { l.receipts["0x1"][0].TransactionHash = "0xt9" },
		"a creation that cannot be read":   func(l *ledgerOf) { l.blocks[0].Transactions[0].Input = "0x" },
		"data that cannot be read":         func(l *ledgerOf) { l.blocks[1].Transactions[0].Input = submitFunction + "ff" },
	} {
		l, _ := newLedger(t)
		spoil(l)
		if got, err := l.read(t); err == nil {
			t.Errorf("%s: got %s, want an error", name, fmt.Sprint(got)[:80])
		}
	}
}
