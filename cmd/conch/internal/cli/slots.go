package cli

import (
	"context"
	"time"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
)

// Slots keeps which call of a cron has its slot.
type Slots interface { //nolint:interfacebloat // all that a call asks of them
	// Begin takes the slot for a leader, if it is free, and the same call gets it again. note is what a person should know of the last one.
	Begin(ctx context.Context, t fence.Token, c Call) (taken bool, note string, err error)
	// End notes the exit code of the command.
	End(ctx context.Context, t fence.Token, c Call, code int) error
	// Stranger names who leads a scope without being a call of a cron, as far as can be told; empty: nobody.
	Stranger(ctx context.Context, scope string, length time.Duration) (says string, err error)
	Close()
}

// OpenSlots returns the slots in a database, and does not connect yet.
type OpenSlots func(ctx context.Context, at pgmint.Config) (Slots, error)

// Call is one call of conch cron.
type Call struct {
	ID     [16]byte
	Length time.Duration // of the slot
	Waited time.Duration // since the call
	Again  bool          // take a slot once more whose command has failed
}
