package keeper

import (
	"time"

	"github.com/conchhq/conch/fence"
)

// Input is something that happened, as far as the machine is concerned.
type Input interface{ input() }

// The inputs. The first four are orders from conch, in its words.
type (
	// Deadline is the instant before which the tree must be gone.
	Deadline struct{ At fence.Instant }
	// Signal is to be passed on to the command.
	Signal struct{ Number int }
	// End asks the command to end, and kills it after that long.
	End struct{ Within time.Duration }
	// Kill kills the tree at once.
	Kill struct{}
	// Orphaned says that conch is gone.
	Orphaned struct{}
	// Started says that the command's main process runs.
	Started struct{ PID int }
	// Failed says that it could not be started.
	Failed struct{ Why string }
	// Exited says that it has ended, with a code or by a signal.
	Exited struct{ Code, Signal int }
	// Emptied says that no descendant is left.
	Emptied struct{}
	// Swept answers a Freeze or a Slay: so many were met for the first time.
	Swept struct{ Fresh int }
	// Tick says that time has passed.
	Tick struct{}
)

func (Deadline) input() {}
func (Signal) input()   {}
func (End) input()      {}
func (Kill) input()     {}
func (Orphaned) input() {}
func (Started) input()  {}
func (Failed) input()   {}
func (Exited) input()   {}
func (Emptied) input()  {}
func (Swept) input()    {}
func (Tick) input()     {}

// Action is something that the loop is to do.
type Action interface{ action() }

// The actions.
type (
	// Start the command; answered by Started or Failed.
	Start struct{}
	// Send a signal to the command's process group.
	Send struct{ Number int }
	// Freeze every descendant that can be found; answered by Swept.
	Freeze struct{}
	// Slay every descendant that can be found; answered by Swept.
	Slay struct{}
	// Tell conch.
	Tell struct{ Report Report }
	// Quit ends the loop: nothing is left to keep.
	Quit struct{}
)

func (Start) action()  {}
func (Send) action()   {}
func (Freeze) action() {}
func (Slay) action()   {}
func (Tell) action()   {}
func (Quit) action()   {}

// SIGINT and SIGTERM, the same numbers on every Unix.
const (
	interrupt = 2
	terminate = 15
)

// Kind says what a Report reports.
type Kind string

// The kinds, in the order of a life.
const (
	Running   Kind = "running"   // PID
	Unstarted Kind = "unstarted" // Error
	Gone      Kind = "gone"      // the main process: Code or Signal, and Cause
	Overdue   Kind = "overdue"   // the deadline has passed and something still lives
	Abandoned Kind = "abandoned" // the keeper itself died, conch kills what is left
	Empty     Kind = "empty"     // nothing lives any more; the last of all
)

// Cause says why a command was made to end.
type Cause string

// The causes.
const (
	Itself Cause = ""         // nobody asked it to
	Late   Cause = "late"     // no new deadline came in time
	Ended  Cause = "ended"    // conch asked
	Killed Cause = "killed"   // conch would not wait any longer
	Lonely Cause = "orphaned" // conch is gone
)

// Report is what a keeper says to conch, one line of JSON each.
type Report struct {
	Kind   Kind   `json:"kind"`
	PID    int    `json:"pid,omitempty"`
	Code   int    `json:"code,omitempty"`
	Signal int    `json:"signal,omitempty"`
	Cause  Cause  `json:"cause,omitempty"`
	Error  string `json:"error,omitempty"`
}
