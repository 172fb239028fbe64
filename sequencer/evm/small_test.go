package evm_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// A chain refuses a transaction that has more gas than its blocks, and the sequencer does not hear of that: its entries
// would wait until their grants are over, and then again in the next batch. One that is too large alone takes no others
// with it.
func TestSmallBlocks(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	_, at := opened(t, s.node, 3, 2)
	small := liar{at.node, func(method string, _ []any, answer json.RawMessage) json.RawMessage {
		var b map[string]any
		if method != "eth_getBlockByNumber" || json.Unmarshal(answer, &b) != nil || b == nil {
			return answer
		}
		b["gasLimit"] = "0x2dc6c0" // 3,000,000
		out, err := json.Marshal(b)
		if err != nil {
			t.Error(err)
		}
		return out
	}}
	k, by := &desk{}, named(t, "stranger")
	r := newReader(t, at, k)
	r.stop()
	l, err := evm.Open(t.Context(), evm.Config{Contract: at.contract, Self: by.name(), Chain: r.chain, Submitter: k, Node: small})
	if err != nil {
		t.Fatal(err)
	}
	var entries []ledger.Entry
	for i := range 50 {
		e := ledger.Entry{Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: by.name(), Sequence: ledger.Sequence{Counter: uint64(i)}}}}
		if e.Outputs = make([]ledger.Hash, 4); i == 20 {
			e.Outputs = make([]ledger.Hash, 250)
		}
		entries = append(entries, e)
	}
	if err := l.Submit(t.Context(), ledger.Sent{By: by.name(), Entries: entries}); err != nil {
		t.Fatal(err)
	}
	large := 0
	for _, c := range k.calls {
		if c.Gas > 3_000_000 {
			large++
			if alone, err := evm.Calldata(ledger.Sent{Entries: entries[20:21]}); err != nil || !bytes.Equal(alone, c.Data) {
				t.Errorf("a transaction of several entries has %d gas, and a block has less", c.Gas)
			}
		}
	}
	if large != 1 || len(k.calls) < 4 {
		t.Errorf("%d transactions, of which %d are too large; want the one entry that is", len(k.calls), large)
	}
}

// Q18: a key of one call is never that of another one: the submitter would refuse the second, and everything behind it
// would wait for ever. A later version may compute another limit for the same entries.
func TestKeys(t *testing.T) {
	t.Parallel()
	one := chain.Call{To: []byte("a"), Data: []byte("data"), Gas: 7}
	keys := map[string]bool{evm.Key(one): true}
	for _, change := range []func(*chain.Call){
		func(c *chain.Call) { c.To = []byte("b") }, func(c *chain.Call) { c.Data = []byte("date") }, func(c *chain.Call) { c.Gas++ },
	} {
		other := one
		change(&other)
		keys[evm.Key(other)] = true
	}
	if len(keys) != 4 {
		t.Errorf("four calls have %d keys", len(keys))
	}
}
