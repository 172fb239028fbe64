package core

import "time"

// Now is the time of the process that leads.
type Now struct {
	Boot time.Duration // counts suspended time and never goes back: what it waits for
	Wall time.Time     // what its clock reads, which is asked for one thing only: what is old enough to be deleted
}

// Input is what the core is told: one of the types below.
type Input interface{ input() }

type (
	// Tick says that the time has come that Due has named.
	Tick struct{}
	// Changed says that somebody has written a revision of crons; without any, that somebody may have. It may be lost.
	Changed struct{ Crons []int64 }
	// Loaded is what came of a [Read].
	Loaded struct {
		At       time.Time // by the database's clock
		Crons    []Cron
		Restored time.Time // when the rows of a backup were found; zero: never
	}
	// Written is what came of a [Write].
	Written struct {
		At    time.Time
		Moved []int64 // the crons of which the move was carried out, or rows were deleted
		Ends  []End   // of their runs, in the order of the moves
	}
	// Failed says that no answer has come, or that the store was not reached. The write may have been carried out.
	Failed struct{ Why error }
)

// End is what has become of a run.
type End struct {
	Cron    int64
	At      time.Time
	Outcome string
	Job     int64 // its job; if it was skipped, the one because of which
}

// The outcomes of a run.
const (
	Enqueued = "enqueued" // it has a job
	Skipped  = "skipped"  // the job of an earlier time has not ended
	Existing = "existing" // it had a row already
)

func (Tick) input()    {}
func (Changed) input() {}
func (Loaded) input()  {}
func (Written) input() {}
func (Failed) input()  {}

// Act is what the core asks for: one of the types below. Read and Write are answered, and there is one of them at a time.
type Act interface{ act() }

type (
	// Read reads crons: those of the ids that still are, those above the known id, and all that have a revision to adopt.
	Read struct {
		Crons []int64
		Known int64
	}
	// Write is one transaction, with the leader's token.
	Write struct {
		Moves  []Move
		Prunes []Prune
	}
	// Tell is a fact that the user wants to know.
	Tell struct{ Fact any }
)

func (Read) act()  {}
func (Write) act() {}
func (Tell) act()  {}

// The facts.
type (
	// Ran says that a scheduled time has its row.
	Ran struct {
		Name string
		End
	}
	// PassedOver says that times of a cron are not run.
	PassedOver struct {
		Name string
		Gap
	}
	// ClockBack says that the database's clock was set back: times of the cron come again, and those with a row are not run again.
	ClockBack struct {
		Name     string
		From, To time.Time
	}
	// Unreadable says that this node cannot read a cron's schedule, which another node could. It is not run.
	Unreadable struct {
		Name string
		Why  error
	}
)
