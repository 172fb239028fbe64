package node

import (
	"context"
	"time"

	"github.com/conchhq/conch/fence"
)

// What services may be besides, so that a role can see to the tables of all of them. The node's Frame lists them; one role does each of these things in
// a whole cluster, while its gate is open.

// Compactor is a [Service] whose tables get rows that are of use to nobody once they are old.
type Compactor interface {
	// Compact deletes some of those that ended longer than keep ago, or moves them out of the way, in one transaction that the token fences: a
	// bounded number, of those that come next after a place; empty: from the beginning. It returns how many of each kind it was, and the
	// place to go on after; empty: there are no more. It may be called concurrently.
	Compact(ctx context.Context, t fence.Token, keep time.Duration, after string) (gone map[string]int, next string, err error)
}

// Measured is a [Service] that knows figures of the whole cluster, which are the same on each node: those that the database says.
type Measured interface {
	// Figures reads them. With an error, those that it returns are right all the same.
	Figures(ctx context.Context) ([]Figure, error)
}

// Figure is a number of conch. Its name begins with conch_, and is that of the metric if there is one with this meaning.
type Figure struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// Recorder is the [Service] that keeps figures over time.
type Recorder interface {
	// Record writes the figures of the slot that it is now by the database's clock, in a transaction that the token fences, and deletes what it
	// keeps for too long. If the slot has its own, nothing is written. It returns how long the slot lasts.
	Record(ctx context.Context, t fence.Token, slot Slot, all []Figure) (rest time.Duration, err error)
}

// Slot says how long one is, and for how long what is recorded is kept.
type Slot struct{ Every, Keep time.Duration }
