package rules

import (
	"fmt"
	"math/big"

	"github.com/conchhq/conch/chain"
)

// Transfer is what is known of a call's effect on the account that signs it.
type Transfer struct {
	All    bool     // it gives all that there is, and does not keep the account
	Amount *big.Int // what it gives, and does not keep the account for; nil: nothing
}

// Funds is what an account has, and what it may not go below.
type Funds struct {
	Free    *big.Int
	Deposit *big.Int // the existential deposit
	Fee     *big.Int // the most that the attempt may cost beside what it gives
}

// MayReap returns an error that wraps chain.ErrCall if a call would end the account that signs it (Z20): then all that was ever signed by it
// would be good once more.
func MayReap(t Transfer, f Funds) error {
	if t.All {
		return fmt.Errorf("%w: it gives away all that the account has, which ends it: set allow_reaping to allow that", chain.ErrCall)
	}
	if t.Amount == nil || t.Amount.Sign() == 0 {
		return nil
	}
	left := new(big.Int).Sub(f.Free, t.Amount)
	if left.Sub(left, f.Fee).Cmp(f.Deposit) >= 0 {
		return nil
	}
	return fmt.Errorf("%w: it would leave the account %v, which is below the deposit of %v that it needs to exist: set allow_reaping to allow that",
		chain.ErrCall, left, f.Deposit)
}

// Payable returns an error that wraps chain.ErrFunds, or chain.ErrOwed, if the account cannot pay a fee from what it has above its deposit
// (Z20), or not before what it owes. Nil: it owes nothing.
func Payable(f Funds, owed *big.Int) error {
	spare := new(big.Int).Sub(f.Free, f.Deposit)
	if f.Fee.Cmp(spare) > 0 {
		return fmt.Errorf("%w: it may cost %v, and the account has %v above the deposit of %v", chain.ErrFunds, f.Fee, spare, f.Deposit)
	}
	if owed != nil && new(big.Int).Add(f.Fee, owed).Cmp(spare) > 0 {
		return fmt.Errorf("%w: it may cost %v, and the account has %v above its deposit and owes %v", chain.ErrOwed, f.Fee, spare, owed)
	}
	return nil
}
