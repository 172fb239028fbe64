package evm_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Q2: a rewind below a final block is never told, though many final blocks are remembered: the machines would refuse it and
// go on with what they had, and an endpoint on a dead branch would be believed.
func TestNoRewindBelowFinal(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{false, true} {
		s := newStreet(t)
		_, at := opened(t, s.node, 3, 2)
		c := &cancels{at: at, owner: named(t, "member 0")}
		c.block()
		r := newReader(t, at, nobody{})
		for range 8 {
			fact := c.block()
			r.await(at.Number(), fact)
		}
		r.stop()
		leave := func() {
			at.node.call(t, nil, "dev_reorg", hexutil.Uint64(at.contract.Depth+2), [][]hexutil.Bytes{{}, {}, {}, {}, {}, {}, {}})
		}
		ctx, stop := context.WithTimeout(t.Context(), patience)
		last, top := r.last(), r.last()
		if live {
			at.Block()
		} else {
			leave()
		}
		err := r.ledger.Follow(ctx, last, func(in any) {
			switch back, is := in.(ledger.Rewind); {
			case live && !is:
				live = false
				top++
				leave()
			case !is || top == last || back.To+at.contract.Depth < top:
				t.Errorf("told %+v", in)
				stop()
			}
		})
		if !errors.Is(err, ledger.ErrDeep) {
			t.Errorf("got error %v, want ErrDeep", err)
		}
		stop()
	}
}
