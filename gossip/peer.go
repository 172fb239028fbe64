package gossip

import (
	"time"

	"github.com/conchhq/conch/gossip/wire"
)

// peer is the other end of a connection.
type peer struct {
	Peer

	left  int           // statements that it may still bring
	since time.Duration // left was counted
	told  bool          // that it floods, in this round
}

// takes counts a statement that a peer brings, and reports whether it is within what a peer may bring.
func (p *peer) takes(now, round time.Duration, flood int) bool {
	if rounds := int((now - p.since) / round); rounds > 0 {
		p.left = min(p.left+min(rounds, 8)*flood, 8*flood)
		p.since += time.Duration(rounds) * round
		p.told = false
	}
	if p.left == 0 {
		return false
	}
	p.left--
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
