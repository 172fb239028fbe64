package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
)

// minRaise is how many percent more clients ask of a replacement, in both caps.
const minRaise = 10

// remoteHands is how many signatures a signer outside this process is asked for at once: it takes its time, and none
// of this processor's.
const remoteHands = 32

// hands is how many signatures a Prepare makes at once.
func (c *Chain) hands(drafts []chain.Draft) int {
	for _, d := range drafts {
		if _, own := c.keys.of(d.Account).(*Keystore); own {
			return runtime.GOMAXPROCS(0)
		}
	}
	return remoteHands
}

// Prepare implements chain.Chain.
func (c *Chain) Prepare(ctx context.Context, drafts []chain.Draft) ([]chain.Prepared, error) {
	ctx = budget.Urgently(ctx, budget.Quotes)
	f, err := c.known(ctx)
	if err != nil {
		return nil, err
	}
	m, err := c.fetchMarket(ctx, f, drafts)
	if err != nil {
		return nil, err
	}
	prepared := make([]chain.Prepared, len(drafts))
	var signing sync.WaitGroup
	workers := make(chan struct{}, c.hands(drafts))
	for i, d := range drafts {
		tx, err := c.draft(m, f, d)
		if err != nil {
			prepared[i].Err = err
			continue
		}
		m.spend(d.Account, cost(tx)) // before there is a signature: if signing fails, the balance is not why
		workers <- struct{}{}
		signing.Go(func() {
			defer func() { <-workers }()
			signed, err := c.sign(ctx, d, tx)
			prepared[i] = chain.Prepared{Signed: signed, Err: err}
		})
	}
	signing.Wait()
	return prepared, nil
}

// draft makes the transaction to sign.
func (c *Chain) draft(m *market, f facts, d chain.Draft) (*types.DynamicFeeTx, error) {
	if c.keys.of(d.Account) == nil {
		return nil, fmt.Errorf("%w %v: it has no configured signer", chain.ErrKey, d.Account)
	}
	call := callOf(d)
	if len(m.unpayable) > 0 && m.unpayable[callKey(d.Account, call)] {
		return nil, m.payable(d, call.Value)
	}
	if len(call.To) != 0 && len(call.To) != common.AddressLength {
		return nil, fmt.Errorf("%w: an address has %d bytes, not %d", chain.ErrCall, common.AddressLength, len(call.To))
	}
	if call.Value != nil && (call.Value.Sign() < 0 || call.Value.BitLen() > 256) {
		return nil, fmt.Errorf("%w: its value %v is negative or above 256 bits", chain.ErrCall, call.Value)
	}
	if err := Oversize(call); err != nil && d.Above.None() {
		return nil, fmt.Errorf("%w: its data %w", chain.ErrCall, err)
	}
	gas, err := m.gasLimit(f, d, call)
	if err != nil {
		return nil, err
	}
	suggested := d.Offer(m.least.Max, m.tip, m.least.Tip)
	if price := new(big.Int).Add(m.least.Max, suggested.Tip); d.Stuck && d.Above.Enough(price, suggested.Tip) {
		return nil, fmt.Errorf("%w: the price is %v", chain.ErrEnough, price)
	}
	fee, err := suggested.Bid(m.least, d.Above, d.Most, minRaise)
	if err != nil {
		return nil, err
	}
	tx := &types.DynamicFeeTx{
		ChainID: new(big.Int).SetUint64(c.cfg.ChainID), Nonce: d.Index, GasTipCap: fee.Tip, GasFeeCap: fee.Max,
		Gas: gas, Value: call.Value, Data: call.Data,
	}
	if len(call.To) > 0 {
		tx.To = new(common.BytesToAddress(call.To))
	}
	if tx.Value == nil {
		tx.Value = new(big.Int)
	}
	return tx, m.payable(d, cost(tx))
}

// sign asks the signer for a signature, and checks the answer.
func (c *Chain) sign(ctx context.Context, d chain.Draft, unsigned *types.DynamicFeeTx) (chain.Signed, error) {
	tx := types.NewTx(unsigned)
	signer := c.keys.of(d.Account)
	if signer == nil { // it has gone since the draft was made
		return chain.Signed{}, fmt.Errorf("%w %v: it has no signer any more", chain.ErrKey, d.Account)
	}
	signed, err := c.keys.sign(ctx, signer, tx)
	if err != nil {
		return chain.Signed{}, err
	}
	if !isOwn(signer) && !faithful(tx, signed, d.Account) {
		return chain.Signed{}, errors.Join(chain.ErrKey, fmt.Errorf("the signer for %v returned another transaction or another account's signature: do not trust it", d.Account))
	}
	raw, err := signed.MarshalBinary()
	if err != nil {
		return chain.Signed{}, fmt.Errorf("encode the transaction: %w", err)
	}
	hash := signed.Hash()
	return chain.Signed{
		Account: d.Account, Index: d.Index, Hash: chain.Hash(hash[:]), Bytes: raw,
		Fee: chain.Fee{Max: unsigned.GasFeeCap, Tip: unsigned.GasTipCap}, Gas: unsigned.Gas, Filler: d.Filler,
	}, nil
}

// isOwn reports whether the signature was made here: of an external signer's answer anything may be false.
func isOwn(s Signer) bool {
	switch s.(type) {
	case *Keystore, *Remote:
		return true
	}
	return false
}

// faithful reports whether a signer outside this process signed tx, and as account a. Recovering
// the account costs twice as much as signing.
func faithful(tx, signed *types.Transaction, a chain.Account) bool {
	by := types.LatestSignerForChainID(tx.ChainId())
	from, err := types.Sender(by, signed)
	return err == nil && chain.Account(from[:]) == a && by.Hash(signed) == by.Hash(tx)
}

// callOf returns the draft's call, or that of a filler.
func callOf(d chain.Draft) chain.Call {
	if d.Filler {
		return emptyCall(d.Account)
	}
	return d.Call
}

func cost(tx *types.DynamicFeeTx) *big.Int {
	most := new(big.Int).Mul(tx.GasFeeCap, new(big.Int).SetUint64(tx.Gas))
	return most.Add(most, tx.Value)
}
