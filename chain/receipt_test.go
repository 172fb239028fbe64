package chain_test

import (
	"context"
	"errors"
	"math/big"
	"testing"

	"github.com/conchhq/conch/chain"
)

func logsOf(sizes ...int) (r chain.Receipt) {
	r.GasPrice = big.NewInt(1)
	for _, n := range sizes {
		r.AddLog(chain.Log{Address: "twenty bytes of text", Topics: []chain.Hash{"t"}, Data: make([]byte, n-21)})
	}
	return r
}

// Of a receipt that is too large the first logs are kept, whole ones and none after one that does not fit, and it is said how many there
// were. Two receipts that differ only in what is not kept are not the same.
func TestAReceiptThatIsTooLarge(t *testing.T) {
	t.Parallel()
	const most = chain.MostLogs
	for _, c := range []struct {
		sizes []int
		kept  int
	}{
		{nil, 0},
		{[]int{100, 200}, 2},
		{[]int{most - 100, 100}, 2},
		{[]int{most - 100, 101, 21}, 1},
		{[]int{most + 1, 21}, 0},
	} {
		r := logsOf(c.sizes...)
		if len(r.Logs) != c.kept || r.AllLogs != len(c.sizes) {
			t.Errorf("%v: kept %d logs of %d, want %d", c.sizes, len(r.Logs), r.AllLogs, c.kept)
		}
		if !r.Same(logsOf(c.sizes...)) {
			t.Errorf("%v: it is not the same as itself", c.sizes)
		}
	}
	one, other := logsOf(most, 30, 21), logsOf(most, 21, 30)
	if one.Same(other) || len(one.Logs) != len(other.Logs) {
		t.Error("they differ in what is not kept, and count as the same")
	}
	split, whole := chain.Receipt{GasPrice: new(big.Int)}, chain.Receipt{GasPrice: new(big.Int)}
	split.AddLog(chain.Log{Address: "a", Topics: []chain.Hash{"b"}, Data: []byte("c")})
	whole.AddLog(chain.Log{Address: "a", Data: []byte("\x01b\x00\x01c")})
	if split.Same(whole) {
		t.Error("a topic and data count as the same data")
	}
}

// turns is an endpoint that answers with one receipt after the other.
type turns struct {
	chain.Chain
	says []chain.Receipt
}

func (c *turns) Receipt(context.Context, chain.Inclusion) (r chain.Receipt, err error) {
	if r, c.says = c.says[0], c.says[1:]; r.GasPrice == nil {
		err = chain.ErrNotFound
	}
	return r, err
}

// An endpoint that is alone says it twice, and the same.
func TestOneAnswerIsNotBelieved(t *testing.T) {
	t.Parallel()
	is := func(gas uint64, by ...string) (r chain.Receipt) {
		r.GasUsed, r.GasPrice = gas, big.NewInt(2)
		copy(r.By[:], by)
		return r
	}
	for name, c := range map[string]struct {
		says []chain.Receipt
		want error
	}{
		"the same twice":   {[]chain.Receipt{is(1, "a"), is(1, "a")}, nil},
		"two have said it": {[]chain.Receipt{is(1, "a", "b")}, nil},
		"something else":   {[]chain.Receipt{is(1, "a"), is(2, "a")}, chain.ErrDisagree},
		"nothing then":     {[]chain.Receipt{is(1, "a"), {}}, chain.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := &turns{says: c.says}
			r, err := chain.Witnessed(t.Context(), of, chain.Inclusion{})
			if !errors.Is(err, c.want) || err == nil && (r.By[1] == "" || r.GasUsed != 1) || len(of.says) != 0 {
				t.Errorf("got %+v, %v, want %v", r, err, c.want)
			}
		})
	}
}
