package evm

import (
	"math/big"
	"testing"

	"github.com/conchhq/conch/chain"
)

// Different calls have different keys, wherever their bytes lie; the same call of another value in memory has the same.
func TestKeysOfCalls(t *testing.T) {
	t.Parallel()
	calls := []struct {
		from chain.Account
		chain.Call
	}{
		{"a", chain.Call{}}, {"b", chain.Call{}}, {"", chain.Call{To: []byte("a")}}, {"", chain.Call{Data: []byte("a")}},
		{"a", chain.Call{To: []byte("b")}}, {"ab", chain.Call{}}, {"a", chain.Call{Data: []byte("b")}}, {"a", chain.Call{To: []byte("b\x001\x00")}},
		{"a", chain.Call{To: []byte("b"), Value: big.NewInt(1)}}, {"a", chain.Call{To: []byte("b"), Data: []byte("1\x00")}},
		{"a", chain.Call{To: []byte("b"), Value: big.NewInt(16)}}, {"a", chain.Call{To: []byte("b"), Value: big.NewInt(1), Data: []byte("0")}},
		{"a", chain.Call{To: []byte("b"), Value: new(big.Int).Lsh(big.NewInt(1), 300)}},
	}
	known := map[string]int{}
	for i, c := range calls {
		key := callKey(c.from, c.Call)
		if other, is := known[key]; is {
			t.Errorf("calls %d and %d have the same key", other, i)
		}
		if known[key] = i; c.Value != nil {
			c.Value = new(big.Int).Set(c.Value)
		}
		if callKey(c.from, c.Call) != key {
			t.Errorf("the key of call %d changes", i)
		}
	}
}

func BenchmarkCallKey(b *testing.B) {
	call := chain.Call{To: make([]byte, 20), Value: big.NewInt(1_000_000_000), Data: make([]byte, 68)}
	for b.Loop() {
		callKey("12345678901234567890", call)
	}
}
