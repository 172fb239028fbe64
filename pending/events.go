package pending

import (
	"fmt"
	"slices"
)

// Events are functions that the [Manager] calls. All are optional and must not block.
type Events struct {
	// Alarm reports that an alarm was raised or has ended. One goroutine calls it, in order.
	Alarm func(a Alarm)
	// Refused reports a send that the gate refused (S17).
	Refused func(err error)
	// Trouble reports an error before a retry. Several goroutines may call it at once.
	Trouble func(err error)
}

// Alarm tells an operator of something that the [Manager] cannot solve alone. It is reported once
// when it is raised, and once when it has ended.
type Alarm struct {
	Cause  Cause
	Whole  bool   // it concerns the whole account, and Index means nothing
	Index  uint64 // the nonce that it concerns
	Intent ID     // the intent that it concerns, for Unclear
	Raised bool   // false: the alarm has ended
	Why    string // the words of the chain or of the signer, if any
}

// Cause is the reason for an [Alarm].
type Cause uint8

const (
	// Strange: the database has another history than before and may have lost rows. No nonce is
	// assigned until every nonce seen in the chain is final.
	Strange Cause = iota
	// Rewound: the chain has taken back final blocks.
	Rewound
	// Funds: the account cannot pay.
	Funds
	// Fees: the fee needed is above the highest fee allowed.
	Fees
	// Keys: there is no key for the account.
	Keys
	// Refused: the chain will never include an attempt. A filler takes its nonce.
	Refused
	// Unsignable: the chain would refuse the new attempt that a slot needs.
	Unsignable
	// Unfilled: the chain refuses the filler of a slot too. A new one is signed with each block;
	// until one is accepted, no later nonce can be included.
	Unfilled
	// Unclear: the node refuses an intent with an error that the driver does not know. The intent
	// is tried again, and rejected in the end; until then all later intents wait, or pass it in relaxed order.
	Unclear
	// Ahead: the chain counts nonces as used of which the store knows nothing: rows were lost, or
	// another holder of the key sends. No nonce is assigned until their transactions are final and
	// proven, and while a waiting intent has the call of one of them. Config.SharedKey says that it is meant.
	Ahead
	// Disagree: a second endpoint, or the same one asked anew, contradicts what one calls final. The
	// slot does not end until they agree.
	Disagree
	// Unproven: the transaction that used a nonce cannot be proven from its bytes, so nothing is
	// concluded from it.
	Unproven
	// Consumed: the chain counts a nonce as used, and no transaction has used it. The intent gets
	// another one.
	Consumed
	// Untold: a transaction is final, and nobody can say any more what it has done. Its intent is Done, and has not succeeded as
	// far as is known: look for yourself. The alarm ends at once.
	Untold
	// Reaped: the chain counts fewer nonces than are final, and nobody knows whether the account has ceased to exist and begun anew.
	// Nothing is signed or sent until a block says so, or a person does.
	Reaped
)

var causes = [...]string{"strange", "rewound", "funds", "fees", "keys", "refused", "unsignable", "unfilled", "unclear", "ahead", "disagree", "unproven", "consumed", "untold", "reaped"}

func (c Cause) String() string { return causes[c] }

// isMoney reports whether an intent that was refused for the cause waits for money, or for lower fees: that may go on for as long as it likes.
func (c Cause) isMoney() bool { return c == Funds || c == Fees }

// UnmarshalText reads a cause's word.
func (c *Cause) UnmarshalText(text []byte) error {
	i := slices.Index(causes[:], string(text))
	if i < 0 {
		return fmt.Errorf("%q is not a cause of an alarm", text)
	}
	*c = Cause(i)
	return nil
}
