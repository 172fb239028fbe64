package pending

// Cause is why an alarm is raised.
type Cause uint8

const (
	// Strange: the database has another history than before and may have lost rows;
	// nothing is given an index until all that was seen in the chain is final.
	Strange Cause = iota
	// Rewound: the chain has gone back below what was final.
	Rewound
	// Funds: the account can not pay.
	Funds
	// Fees: what has to be paid is above the highest fee allowed.
	Fees
	// Keys: there is no key for the account.
	Keys
	// Refused: the chain will never take a transaction's bytes; its slot is filled.
	Refused
)

func (c Cause) String() string {
	return [...]string{"strange", "rewound", "funds", "fees", "keys", "refused"}[c]
}
