package gossip

import (
	"time"

	"github.com/conchhq/conch/gossip/wire"
)

// peer is the other end of a connection.
type peer struct {
	Peer
	purse
}

// purse is what a peer may cost.
type purse struct {
	allowance            // for the statements that it brings, and for what it asks
	signatures allowance // of these, for those that are verified, which is what takes a processor's time
}

// mostVerified is how many signatures of a peer are verified in a round, and eight times as many at once: a relay passes on no more.
const mostVerified = freshNews + mostBeats

// allowance is how much is taken: so much in a round, and eight times as much at once.
type allowance struct {
	left  int
	since time.Duration // left was counted
	told  bool          // that it is spent, in this round
}

// takes spends some of the allowance. It is false, and nothing is spent, if so much is not left.
func (a *allowance) takes(cost int, now, round time.Duration, each int) bool {
	if rounds := int((now - a.since) / round); rounds > 0 {
		a.left = min(a.left+min(rounds, 8)*each, 8*each)
		a.since += time.Duration(rounds) * round
		a.told = false
	}
	if a.left < cost {
		return false
	}
	a.left -= cost
	return true
}

// news is a statement under a topic.
type news struct {
	said wire.Said
	name wire.Name
	made time.Duration // when it was said, on this node's clock, by the age of the first copy
	past bool          // it is too old to be told, and has no body; a copy of it is known as one
	direct
}

// direct is the newest statement of a key that its subject itself has brought.
type direct struct {
	incarnation, sequence uint64
	at                    time.Duration
}
