package transactions

import (
	"fmt"
	"math/big"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/pending/pgstore"
)

// refusal says which limit of a policy a call exceeds, whatever was spent before.
type refusal struct {
	limit string   // the policy's field
	text  string   // goes on after the name of the policy
	most  *big.Int // of an amount
}

func (r *refusal) Error() string { return r.text }

// wanted is a call that somebody wants to have sent.
type wanted struct {
	account chain.Account
	call    chain.Call
	maxFee  *big.Int // of the account; nil: it has none
	ceiling *big.Int // the call's own; nil: it has none
}

// fee returns the most that it may cost: what carries the call stays below the ceiling, and a transaction that does nothing, which may
// take its nonce instead, does not.
func (a wanted) fee() *big.Int {
	times := func(gas uint64, price *big.Int) *big.Int { return new(big.Int).Mul(new(big.Int).SetUint64(gas), price) }
	if a.ceiling == nil || a.ceiling.Cmp(a.maxFee) >= 0 {
		return times(a.call.Gas, a.maxFee)
	}
	own, filler := times(a.call.Gas, a.ceiling), times(min(a.call.Gas, evm.LeastGas(chain.Call{To: []byte(a.account)})), a.maxFee)
	if own.Cmp(filler) < 0 {
		return filler
	}
	return own
}

// judge says what a call takes from the limits of a policy, or why the policy refuses it. It is pure: what was spent before, the
// database knows.
func (r *rules) judge(a wanted) (takes []pgstore.Take, no *refusal) {
	take := func(what string, limit *Amount, amount *big.Int) {
		if limit != nil && amount != nil && amount.Sign() > 0 {
			takes = append(takes, pgstore.Take{What: what, Amount: amount})
		}
	}
	value := a.call.Value
	if value == nil {
		value = new(big.Int)
	}
	moved, of, no := r.mayCall(a, value)
	fee := new(big.Int)
	switch {
	case !r.accounts.has(a.account):
		return nil, &refusal{limit: "accounts", text: fmt.Sprintf("does not have the account %v", a.account)}
	case no != nil:
		return nil, no
	case r.Value != nil && value.Cmp(r.Value.limit()) > 0:
		return nil, &refusal{limit: "value", text: fmt.Sprintf("allows a value of %v in one transaction", r.Value), most: r.Value.limit()}
	case r.FeeADay != nil && a.call.Gas == 0:
		return nil, &refusal{limit: "fee_a_day", text: "limits fees, so say how much gas the call may spend"}
	case r.FeeADay != nil && a.maxFee == nil:
		return nil, &refusal{limit: "fee_a_day", text: "limits fees, and the account has no max_fee: set it under [[accounts]]"}
	case r.FeeADay != nil:
		fee = a.fee()
	}
	take(pgstore.OfCount, r.CountAMinute, big.NewInt(1))
	take(pgstore.OfValue, r.ValueADay, value)
	take(pgstore.OfFee, r.FeeADay, fee)
	take(chain.Account(a.call.To).String(), of.AmountADay, moved)
	return takes, nil
}

// mayCall judges whom a call calls, and with what. moved are the coins of an ERC-20 contract, if it is a call that moves some.
func (r *rules) mayCall(a wanted, value *big.Int) (moved *big.Int, of coin, no *refusal) {
	to, data := chain.Account(a.call.To), a.call.Data
	if len(to) == 0 {
		if !r.Creation {
			no = &refusal{limit: "creation", text: "does not allow to create contracts"}
		}
		return nil, of, no
	}
	if coins, is, err := evm.DecodeERC20(data); is {
		of, no = r.mayMove(to, coins, err, value)
		return coins.Amount, of, no
	}
	exact, all := r.receivers[to], r.receivers[""]
	if len(data) == 0 {
		if !exact.plain && !all.plain && !exact.all && !all.all {
			no = &refusal{limit: "receivers", text: fmt.Sprintf("does not allow to send to %v", to)}
		}
		return nil, of, no
	}
	var s evm.Selector
	named := copy(s[:], data) == len(s)
	if allowed := exact.all || all.all || named && (exact.set[s] || all.set[s]); !allowed {
		no = &refusal{limit: "receivers", text: fmt.Sprintf("does not allow to call the function 0x%x of %v", data[:min(len(data), len(s))], to)}
	}
	return nil, of, no
}

// mayMove judges a call that moves coins. Its data has to be what the function takes, to the byte: a contract may take it otherwise. What
// another is allowed to take counts as moved.
func (r *rules) mayMove(contract chain.Account, c evm.ERC20, odd error, value *big.Int) (of coin, no *refusal) {
	of, has := r.coins[contract]
	if !has {
		of, has = r.coins[""]
	}
	switch {
	case !has:
		return of, &refusal{limit: "erc20", text: fmt.Sprintf("does not have the contract %v, of which %s is called", contract, c.Function)}
	case odd != nil:
		return of, &refusal{limit: "erc20", text: fmt.Sprintf("cannot be applied, since the data %v", odd)}
	case value.Sign() > 0:
		return of, &refusal{limit: "erc20", text: fmt.Sprintf("does not allow to send value with %s", c.Function)}
	case !of.to.has(c.To):
		return of, &refusal{limit: "erc20", text: fmt.Sprintf("does not allow coins of %v for %v", contract, c.To)}
	case of.Amount != nil && c.Amount.Cmp(of.Amount.limit()) > 0:
		return of, &refusal{limit: "erc20", text: fmt.Sprintf("allows %v coins of %v in one transaction", of.Amount, contract), most: of.Amount.limit()}
	}
	return of, nil
}
