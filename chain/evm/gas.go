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
	transferGas = 21_000 // of the cheapest transaction
	creationGas = 53_000 // of a contract creation, before its code runs
	zeroGas     = 4      // for a zero byte of data
	byteGas     = 16     // for any other byte
	floorGas    = 10     // the least for a zero byte, and four times that for any other byte (EIP-7623)

	mostBytes    = 128 << 10       // of a transaction with its signature, in the pools of all common nodes
	mostData     = mostBytes - 256 // the rest is for what a transaction has beside its data
	mostInitCode = 48 << 10        // of the code that creates a contract (EIP-3860)
)

// LeastGas returns the intrinsic gas of a call by the rules of Istanbul. Prepare refuses a first
// attempt with less. Later rules need more for some calls, which the node says, but for floorOf. EIP-2780 needs
// less for some, and to allow more does no harm, since unspent gas is not paid.
func LeastGas(call chain.Call) uint64 {
	least := uint64(transferGas)
	if len(call.To) == 0 {
		least = creationGas
	}
	zeros := uint64(bytes.Count(call.Data, []byte{0}))
	return least + zeros*zeroGas + (uint64(len(call.Data))-zeros)*byteGas
}

// floorOf returns the least gas of a call's data by the rules of Prague (EIP-7623).
func floorOf(call chain.Call) uint64 {
	zeros := uint64(bytes.Count(call.Data, []byte{0}))
	return transferGas + (zeros+4*(uint64(len(call.Data))-zeros))*floorGas
}

// leastGas returns the least gas of a call on this chain.
func (f facts) leastGas(call chain.Call) uint64 {
	if f.floor {
		return max(LeastGas(call), floorOf(call))
	}
	return LeastGas(call)
}

// Oversize returns why nodes take a call with no gas limit at all, since it is too large; nil if they may take it.
func Oversize(call chain.Call) error {
	switch n := len(call.Data); {
	case n > mostData:
		return fmt.Errorf("has %d bytes, and nodes take at most %d, for the whole transaction 128 KiB: send it in parts", n, mostData)
	case len(call.To) == 0 && n > mostInitCode:
		return fmt.Errorf("has %d bytes, and chains take at most %d of the code that creates a contract: make the contract smaller, or split it", n, mostInitCode)
	}
	return nil
}

// estimate is the node's answer to eth_estimateGas.
type estimate struct {
	gas  uint64
	err  error // what the node's error means for the call
	said error // the node's error
}

func estimateCall(a chain.Account, call chain.Call) rpc.BatchElem {
	return rpc.BatchElem{Method: "eth_estimateGas", Args: []any{arguments(a, call)}, Result: new(hexutil.Uint64)}
}

func (c *Chain) readEstimate(call rpc.BatchElem) estimate {
	got, _ := call.Result.(*hexutil.Uint64)
	e := estimate{gas: uint64(*got), err: c.classify(call), said: call.Error}
	if e.err == nil && e.gas == 0 {
		e.err = fmt.Errorf("%w: %s estimates 0 gas for a call, which is impossible", chain.ErrAnswer, c.cfg.URL)
	}
	return e
}

// gasLimit returns the gas limit of a draft.
func (m *market) gasLimit(f facts, d chain.Draft, call chain.Call) (uint64, error) {
	gas := call.Gas
	switch e := m.gas[callKey(d.Account, call)]; {
	case d.Filler:
		return m.fillerGas(f, e)
	case gas == 0 && e.err != nil:
		return 0, m.estimateError(e, d.Account, call)
	case gas == 0:
		if gas = e.gas; gas > transferGas {
			// The call may need more by the time it is executed.
			gas = min(gas+gas/5, max(gas, f.blockGas))
		}
	case gas < f.leastGas(call) && d.Above.None(): // a later attempt keeps the gas of the first
		return 0, fmt.Errorf("%w: its gas limit is %d, and it needs at least %d", chain.ErrCall, gas, f.leastGas(call))
	}
	if gas > f.blockGas {
		return 0, fmt.Errorf("%w: its gas limit is %d, and the chain allows a transaction %d", chain.ErrCall, gas, f.blockGas)
	}
	return gas, nil
}

// estimateError returns the error of a call without an estimate. Before it runs the call, a node
// checks that the account has the value, and its text for that may be unknown. So a balance below
// the value means ErrFunds, which keeps the intent, unless a contract reverted.
func (m *market) estimateError(e estimate, a chain.Account, call chain.Call) error {
	doubted := errors.Is(e.err, chain.ErrUnclear) || errors.Is(e.err, chain.ErrCall) && !reverted(e.said)
	if has := m.balances[a]; doubted && call.Value != nil && call.Value.Cmp(has) > 0 {
		return fmt.Errorf("%w: it transfers %v wei, and the account has %v left", chain.ErrFunds, call.Value, has)
	}
	return e.err
}

// fillerGas returns the gas limit of a filler, which does not depend on the call that it replaces.
// A filler may fail, since it uses the slot all the same. So it gets the gas of a transfer if
// the node refuses an estimate, as for an account whose own code reverts.
func (m *market) fillerGas(f facts, e estimate) (uint64, error) {
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

// emptyCall returns the cheapest call, which has no effect.
func emptyCall(a chain.Account) chain.Call { return chain.Call{To: []byte(a)} }
