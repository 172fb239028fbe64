package evm_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// logOf is a log as the contract writes it.
func logOf(name string, index uint, words ...common.Hash) types.Log {
	_, events := evm.Signatures()
	l := types.Log{Address: common.Address{1}, BlockHash: common.Hash{2}, Index: index}
	l.Topics = []common.Hash{events[name], common.BytesToHash([]byte("aaaaaaaaaaaaaaaaaaaa")), common.BytesToHash([]byte("lineage.counter."))}
	for _, w := range words {
		l.Data = append(l.Data, w[:]...)
	}
	return l
}

// What the contract writes is a fact, in its order; everything else is an error.
func TestFacts(t *testing.T) {
	t.Parallel()
	payload, assembled, missing := common.Hash{3}, common.Hash{4}, common.BytesToHash([]byte{byte(ledger.Missing)})
	good := func() []types.Log {
		return []types.Log{logOf("Skipped", 4, payload, assembled, missing), logOf("Landed", 7, payload, assembled), logOf("Cancelled", 8)}
	}
	in := ledger.Intent{Owner: "aaaaaaaaaaaaaaaaaaaa", Sequence: ledger.Sequence{Lineage: 0x6c696e656167652e, Counter: 0x636f756e7465722e}}
	want := []ledger.Fact{
		{Intent: in, Payload: ledger.Hash(payload), Assembled: ledger.Hash(assembled), Skipped: ledger.Missing},
		{Intent: in, Payload: ledger.Hash(payload), Assembled: ledger.Hash(assembled)},
		{Intent: in},
	}
	if got, err := evm.Facts(common.Address{1}, common.Hash{2}, good()); err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
	for name, spoil := range map[string]func([]types.Log){
		"another contract":    func(l []types.Log) { l[1].Address[0]++ },
		"another block":       func(l []types.Log) { l[1].BlockHash[0]++ },
		"taken back":          func(l []types.Log) { l[1].Removed = true },
		"out of order":        func(l []types.Log) { l[1].Index = 9 },
		"one twice":           func(l []types.Log) { l[1] = l[0] },
		"another event":       func(l []types.Log) { l[1].Topics[0][0]++ },
		"no topics":           func(l []types.Log) { l[1].Topics = nil },
		"a topic too few":     func(l []types.Log) { l[1].Topics = l[1].Topics[:2] },
		"a topic too many":    func(l []types.Log) { l[1].Topics = append(l[1].Topics, payload) },
		"a long owner":        func(l []types.Log) { l[1].Topics[1][11] = 1 },
		"a long sequence":     func(l []types.Log) { l[1].Topics[2][15] = 1 },
		"short":               func(l []types.Log) { l[1].Data = l[1].Data[:63] },
		"long":                func(l []types.Log) { l[1].Data = append(l[1].Data, 0) },
		"a cancelled payload": func(l []types.Log) { l[2].Data = payload[:] },
		"no reason":           func(l []types.Log) { l[0].Data[95] = 0 },
		"a new reason":        func(l []types.Log) { l[0].Data[95] = byte(ledger.Missing) + 1 },
		"a long reason":       func(l []types.Log) { l[0].Data[64] = 1 },
		"an attempt unnamed":  func(l []types.Log) { clear(l[1].Data[32:]) },
	} {
		logs := good()
		spoil(logs)
		if got, err := evm.Facts(common.Address{1}, common.Hash{2}, logs); !errors.Is(err, evm.ErrLog) {
			t.Errorf("%s: got %+v, %v; want ErrLog", name, got, err)
		}
	}
}
