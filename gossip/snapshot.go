package gossip

import (
	"time"

	"github.com/conchhq/conch/gossip/wire"
)

// Status is what a machine knows of a namespace.
type Status struct {
	Namespace string
	Suggestion

	State   State
	Until   time.Duration  // it listens or stands back; on this node's clock
	Valid   time.Duration  // for how long a heartbeat counts at this node
	Heard   time.Duration  // since the leader's last heartbeat was said (B7); below 0: never
	Changes int            // of the suggested leader (B21)
	Top     uint64         // the highest reign that was heard of
	Known   []Known        // candidates, the first of the order first
	Unled   time.Duration  // since when no leader is known, if there is none; on this node's clock
	Lacking time.Duration  // since when this node, an elector, hears no majority of them, so that nobody here may begin to lead; below 0: it does
	Silent  []wire.Subject // the electors that it has not heard within Valid, if it is one of them
}

// Known is a candidate that was heard.
type Known struct {
	Subject wire.Subject
	wire.Heartbeat

	Age time.Duration
}

// Item is a piece of news that is kept.
type Item struct {
	wire.Statement

	Age time.Duration
}
