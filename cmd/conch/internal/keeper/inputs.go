package keeper

import (
	"time"

	"github.com/conchhq/conch/fence"
)

// Input is what the machine is told.
type Input interface{ input() }

// The inputs. The first four are orders from conch.
type (
	// Deadline is the instant before which the tree must be gone.
	Deadline struct{ At fence.Instant }
	// Signal is a signal to pass on to the command.
	Signal struct{ Number int }
	// End asks the command to end, and kills it after Within.
	End struct{ Within time.Duration }
	// Kill kills the tree at once.
	Kill struct{}
	// ConchGone says that conch has ended, so that no deadlines come any more.
	ConchGone struct{}
	// Started says that the command's main process runs.
	Started struct{ PID int }
	// Failed says that the command could not be started.
	Failed struct{ Why string }
	// Exited says that the main process has ended, with a code or by a signal.
	Exited struct{ Code, Signal int }
	// Emptied says that no descendant is left.
	Emptied struct{}
	// Swept answers Freeze and KillAll. Fresh counts the descendants met for the first time.
	Swept struct{ Fresh int }
	// Tick says that time has passed.
	Tick struct{}
)

func (Deadline) input()  {}
func (Signal) input()    {}
func (End) input()       {}
func (Kill) input()      {}
func (ConchGone) input() {}
func (Started) input()   {}
func (Failed) input()    {}
func (Exited) input()    {}
func (Emptied) input()   {}
func (Swept) input()     {}
func (Tick) input()      {}

// Action is what the machine asks its loop to do.
type Action interface{ action() }

// The actions.
type (
	// Start starts the command. Started or Failed answers it.
	Start struct{}
	// Send sends a signal to the command's process group.
	Send struct{ Number int }
	// Freeze stops every descendant that can be found. Swept answers it.
	Freeze struct{}
	// KillAll kills every descendant that can be found. Swept answers it.
	KillAll struct{}
	// Tell sends a report to conch.
	Tell struct{ Report Report }
	// Quit ends the loop: nothing is left to keep.
	Quit struct{}
)

func (Start) action()   {}
func (Send) action()    {}
func (Freeze) action()  {}
func (KillAll) action() {}
func (Tell) action()    {}
func (Quit) action()    {}

// SIGINT and SIGTERM, the same numbers on every Unix.
const (
	interrupt = 2
	terminate = 15
)

// Kind says what a Report reports.
type Kind string

// The kinds, in the order in which they occur.
const (
	Running    Kind = "running"   // the main process runs; sets PID
	Unstarted  Kind = "unstarted" // it could not be started; sets Error
	MainExited Kind = "gone"      // it has ended; sets Code or Signal, and Cause
	Overdue    Kind = "overdue"   // the deadline has passed and something still lives
	KeeperDied Kind = "abandoned" // the keeper itself died, and conch kills the rest
	Empty      Kind = "empty"     // no process is left; the last report
)

// Cause says why a command ended.
type Cause string

// The causes.
const (
	Itself  Cause = ""         // by itself
	Late    Cause = "late"     // no new deadline came in time
	Ended   Cause = "ended"    // conch asked it to end
	Killed  Cause = "killed"   // conch had it killed
	NoConch Cause = "orphaned" // conch has ended
)

// Report is what a keeper tells conch, as one line of JSON.
type Report struct {
	Kind   Kind   `json:"kind"`
	PID    int    `json:"pid,omitempty"`
	Code   int    `json:"code,omitempty"`
	Signal int    `json:"signal,omitempty"`
	Cause  Cause  `json:"cause,omitempty"`
	Error  string `json:"error,omitempty"`
}
