package pending

// Events are facts for logs, metrics and people. All are optional and must not block.
type Events struct {
	// Alarm is called by one goroutine, in order.
	Alarm func(a Alarm)
	// Refused is a send that the gate refused (S17).
	Refused func(err error)
	// Trouble is what is tried again. It may be called by several goroutines at once.
	Trouble func(err error)
}

// Alarm is for people. It is raised once for each cause until that has passed.
type Alarm struct {
	Cause  Cause
	Whole  bool   // it is about the account,
	Index  uint64 // else about this slot
	Intent ID     // Unclear: which
	Raised bool   // else it has passed
	Why    string // in the words of the chain, or of who signs, if there are some
}

// Cause is why an alarm is raised.
type Cause uint8

const (
	// Strange: the database has another history than before and may have lost rows;
	// nothing is given an index until all that was seen in the chain is final.
	Strange Cause = iota
	// Rewound: the chain has gone back below what was final.
	Rewound
	// Funds: the account cannot pay.
	Funds
	// Fees: what has to be paid is above the highest fee allowed.
	Fees
	// Keys: there is no key for the account.
	Keys
	// Refused: the chain will never take a transaction's bytes; its slot is filled.
	Refused
	// Unsignable: the chain would never take what has to be signed anew for a slot, which
	// waits with what it has.
	Unsignable
	// Unfilled: the chain does not take the filler of a slot either. It is signed anew with
	// each block; until one is taken nothing behind it is executed.
	Unfilled
	// Unclear: the node refuses one intent in words that nobody knows. It is asked again,
	// and the intent rejected in the end; until then what was accepted since waits.
	Unclear
)

func (c Cause) String() string {
	return [...]string{"strange", "rewound", "funds", "fees", "keys", "refused", "unsignable", "unfilled", "unclear"}[c]
}
