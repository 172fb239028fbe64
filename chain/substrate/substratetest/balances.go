package substratetest

import "math/big"

// endow gives to an account, which begins to exist if it did not.
func (x *execution) endow(who string, amount *big.Int) {
	a := x.state.account(who)
	if a.providers == 0 {
		a = account{providers: 1, free: new(big.Int)}
		x.emit("System", "NewAccount", []byte(who))
		x.emit("Balances", "Endowed", []byte(who), u128(amount))
	}
	a.free = new(big.Int).Add(a.free, amount)
	x.set(accountKey(who), a.encode())
}

// take takes from an account, which ceases to exist, with its nonce, if less than the existential deposit is left.
func (x *execution) take(who string, amount *big.Int) {
	a := x.state.account(who)
	a.free = new(big.Int).Sub(a.free, amount)
	if a.free.Cmp(x.node.deposit) >= 0 {
		x.set(accountKey(who), a.encode())
		return
	}
	x.set(accountKey(who), nil)
	x.emit("System", "KilledAccount", []byte(who))
	if a.free.Sign() > 0 {
		x.emit("Balances", "DustLost", []byte(who), u128(a.free))
		x.set(issuanceKey, u128(new(big.Int).Sub(x.state.issuance(), a.free)))
	}
}

func (x *execution) transfer(who, dest string, amount *big.Int, keep bool) failure {
	if dest == "" {
		return cannotLookup
	}
	from, to := x.state.account(who), x.state.account(dest)
	left := new(big.Int).Sub(from.free, amount)
	switch {
	case left.Sign() < 0:
		return underflow
	case amount.Sign() == 0 || who == dest:
		return nil
	case keep && left.Cmp(x.node.deposit) < 0:
		return notExpendable
	case to.providers == 0 && amount.Cmp(x.node.deposit) < 0:
		return belowMinimum
	}
	x.endow(dest, amount)
	x.take(who, amount)
	x.emit("Balances", "Transfer", []byte(who), []byte(dest), u128(amount))
	return nil
}

// transferAll transfers all that there is, or with keep_alive all above the existential deposit.
func (x *execution) transferAll(who string, c call) failure {
	amount := new(big.Int).Set(x.state.account(who).free)
	if c.keep {
		amount.Sub(amount, x.node.deposit)
	}
	if amount.Sign() < 0 {
		amount.SetInt64(0)
	}
	return x.transfer(who, c.dest, amount, c.keep)
}

// pay withdraws a fee, and says so.
func (x *execution) pay(who string, fee, tip *big.Int) {
	x.take(who, fee) // what is left is above the existential deposit
	x.set(issuanceKey, u128(new(big.Int).Sub(x.state.issuance(), fee)))
	x.emit("Balances", "Withdraw", []byte(who), u128(fee))
	x.emit("TransactionPayment", "TransactionFeePaid", []byte(who), u128(fee), u128(tip))
}
