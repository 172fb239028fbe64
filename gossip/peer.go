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

// news is a statement under a topic.
type news struct {
	said wire.Said
	name wire.Name
	made time.Duration // when it was said, on this node's clock, by the age of the first copy
	direct
}

// direct is the newest statement of a key that its subject itself has brought.
type direct struct {
	incarnation, sequence uint64
	at                    time.Duration
}
