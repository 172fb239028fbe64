package evm

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

const (
	// transferGas is what the cheapest transaction spends.
	transferGas = 21_000
	// creationGas is what one spends that makes a contract, before its code runs.
	creationGas = 53_000
	zeroGas     = 4  // for a byte of data that is zero,
	byteGas     = 16 // and for any other
)

// LeastGas is the least that a call must be allowed to spend, or nobody ever takes it: its
// intrinsic gas by the rules of Istanbul. Rules since then ask more of some calls, which
// the node says. From EIP-2780 on they ask less of some; that much may be allowed to them
// all the same, for what is not spent is not paid.
func LeastGas(call chain.Call) uint64 {
	least := uint64(transferGas)
	if len(call.To) == 0 {
		least = creationGas
	}
	zeros := uint64(bytes.Count(call.Data, []byte{0}))
	return least + zeros*zeroGas + (uint64(len(call.Data))-zeros)*byteGas
}

// estimate is what the node says that a call spends.
type estimate struct {
	gas  uint64
	err  error // what that means for the call, if it does not say so,
	said error // and what it said
}

func estimating(a chain.Account, call chain.Call) rpc.BatchElem {
	return rpc.BatchElem{Method: "eth_estimateGas", Args: []any{arguments(a, call)}, Result: new(hexutil.Uint64)}
}

func (c *Chain) estimated(call rpc.BatchElem) estimate {
	got, _ := call.Result.(*hexutil.Uint64)
	e := estimate{gas: uint64(*got), err: c.refused(call), said: call.Error}
	if e.err == nil && e.gas == 0 {
		e.err = fmt.Errorf("%w: %s says that a call spends no gas, which cannot be", chain.ErrAnswer, c.cfg.URL)
	}
	return e
}

// limit is what a draft's call may spend.
func (m *market) limit(f facts, d chain.Draft, call chain.Call) (uint64, error) {
	gas := call.Gas
	switch e := m.gas[callKey(d.Account, call)]; {
	case d.Filler:
		return m.filling(f, e)
	case gas == 0 && e.err != nil:
		return 0, m.blamed(e, d.Account, call)
	case gas == 0:
		if gas = e.gas; gas > transferGas {
			// What it spends may grow until it is executed.
			gas = min(gas+gas/5, max(gas, f.blockGas))
		}
	case gas < LeastGas(call) && d.Above.None(): // else an attempt with as much was signed before
		return 0, fmt.Errorf("%w: it may spend %d gas, and takes %d at least", chain.ErrCall, gas, LeastGas(call))
	}
	if gas > f.blockGas {
		return 0, fmt.Errorf("%w: it may spend %d gas, the chain lets a transaction have %d", chain.ErrCall, gas, f.blockGas)
	}
	return gas, nil
}

// blamed is why a call has no estimate. A node looks first whether the account has what the
// call moves, and says that it has not in words of its own: the numbers need none, and
// what is only short of money is held, not rejected. A contract speaks after that look.
func (m *market) blamed(e estimate, a chain.Account, call chain.Call) error {
	doubted := errors.Is(e.err, chain.ErrUnclear) || errors.Is(e.err, chain.ErrCall) && !reverted(e.said)
	if has := m.balances[a]; doubted && call.Value != nil && call.Value.Cmp(has) > 0 {
		return fmt.Errorf("%w: it moves %v wei, the account has %v left", chain.ErrFunds, call.Value, has)
	}
	return e.err
}

// filling is what a filler may spend: its own, whatever the call that it stands for was
// given. That it fails is no matter, since it uses the slot up all the same; so a node
// that answers and does not say what it spends, as for an account whose own code
// reverts, keeps nobody from filling a slot.
func (m *market) filling(f facts, e estimate) (uint64, error) {
	gas := max(e.gas, transferGas)
	switch {
	case silent(e.said) || throttled(e.said):
		return 0, e.err
	case e.said != nil:
		gas = transferGas
	case gas > transferGas:
		gas += gas / 5
	}
	return min(gas, f.blockGas), nil
}

// nothing is the cheapest call that does nothing.
func nothing(a chain.Account) chain.Call { return chain.Call{To: []byte(a)} }
