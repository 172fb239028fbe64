package pending

import (
	"time"

	"github.com/conchhq/conch/chain"
)

// Attempt is a signed transaction of a slot, as people are shown it: without its bytes, which anybody could send.
type Attempt struct {
	Hash   chain.Hash
	Fee    chain.Fee
	Gas    uint64    // the most that it may spend
	Filler bool      // as in chain.Signed
	Signed time.Time // when it was stored, by the store's clock; it is not sent before
}

// Backlog is what of an account has not ended.
type Backlog struct {
	Next      uint64    // one more than the highest nonce ever stored, as the chain counts in the newest Life; 0: none was
	Queued    int       // intents without a slot, put off or not; a store may stop counting
	InFlight  int       // slots that are in no block
	Gaps      int       // of those, slots without an intent, which a transaction that does nothing fills
	InBlock   int       // slots that are in a block and not final
	Oldest    time.Time // when the oldest intent that is in no block was accepted; zero: there is none
	Hold      Hold      // why no intent gets a slot, if that is known
	HoldSince time.Time // since when, if the store keeps that
}
