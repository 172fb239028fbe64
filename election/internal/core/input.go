package core

import (
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// Input is an event that the machine takes.
type Input interface{ input() }

// The inputs of a [Machine]. Deadlines count from Sent, the instant when the request left.
type (
	// Tick says only that time has passed.
	Tick struct{}
	// Opened answers Connect. Caution is the session's, if it has one: see Session.
	Opened struct{ Caution error }
	// Tried answers Try. Bids without a result were not tried.
	Tried struct {
		Sent    fence.Instant
		Results []mint.Result
	}
	// Beaten answers Beat, in the order of its pulses.
	Beaten struct {
		Sent    fence.Instant
		Answers []mint.Outcome
	}
	// Parted answers Release, in the order of its farewells. A missing answer means Said.
	Parted struct{ Answers []mint.Parting }
	// Enlisted answers Enlist.
	Enlisted struct{}
	// Failed answers any of these requests instead. Lost means that the session has ended.
	Failed struct {
		Lost bool
		Err  error
	}
	// Woken is a hint: Process has ended, or Holder has taken Scope, or Scope is free (no Holder),
	// or changes may have been missed (all empty).
	Woken struct {
		Process int64
		Scope   string
		Holder  string
	}
	// StepDown asks to give a scope up; package election says what each field means.
	StepDown struct {
		Scope   string
		Epoch   int64         // the only term to give up; 0: the present one
		Why     error         // the cause that the role's context gets
		How     mint.Ending   // EndedByFailure if the role failed
		Actor   string        // the operator, for the history
		To      string        // the candidate that should lead next
		Timeout time.Duration // how long acts may take to end
	}
	// Ended says that the role of a shut gate has returned, with no act and no answer left.
	Ended struct{ Scope string }
	// Add campaigns for a scope. For a known scope, the settings are those of its next term; a
	// retired scope is campaigned for again.
	Add struct{ Seat SeatSettings }
	// Retire ends the campaign for a scope. A running term goes on.
	Retire struct {
		Scope  string
		Ticket uint64 // of the caller; 0: nobody waits
	}
	// Rest pauses the campaign for a scope, so that other candidates go first.
	Rest struct {
		Scope string
		For   time.Duration
	}
	// Stop asks to give every scope up and end. Why is nil or wraps ErrStepDown.
	Stop struct {
		Why     error
		Timeout time.Duration
	}
)

func (Tick) input()     {}
func (Opened) input()   {}
func (Tried) input()    {}
func (Beaten) input()   {}
func (Parted) input()   {}
func (Enlisted) input() {}
func (Failed) input()   {}
func (Woken) input()    {}
func (StepDown) input() {}
func (Ended) input()    {}
func (Add) input()      {}
func (Retire) input()   {}
func (Rest) input()     {}
func (Stop) input()     {}

// Action is something that the machine asks its loop to do.
type Action interface{ action() }

// The actions of a [Machine]. At most one of Connect, Try, Beat, Release and Enlist is under way
// at a time; one input answers it.
type (
	// Connect opens a session with the mint for a candidate of these scopes.
	Connect struct {
		Scopes  []string
		Longest time.Duration // the longest of their leases
	}
	// Disconnect closes the session.
	Disconnect struct{}
	// Try sends bids.
	Try struct{ Bids []mint.Bid }
	// Beat renews terms.
	Beat struct{ Pulses []mint.Pulse }
	// Release gives terms up.
	Release struct{ Farewells []mint.Farewell }
	// Enlist changes the scopes for which the mint has registered this candidate.
	Enlist struct{ Roll mint.Roll }
	// Forget drops a retired scope.
	Forget struct{ Scope string }
	// Open opens a gate and starts the role's Fenced function.
	Open struct {
		Token    fence.Token
		ActFrom  fence.Instant
		Deadline fence.Instant
	}
	// Enter starts the role's Lead function, since the act door is open now.
	Enter struct{ Token fence.Token }
	// Extend moves a gate's deadline.
	Extend struct {
		Scope    string
		Deadline fence.Instant
	}
	// Suspend shuts a gate until the next Extend.
	Suspend struct{ Scope string }
	// Shut shuts a gate for the rest of its term and cancels the role; Ended answers it. By is
	// when the role's time to end is up; 0 if the leadership was lost.
	Shut struct {
		Token fence.Token
		Why   error
		By    fence.Instant
	}
	// Prolong moves the instant by which the acts behind a shut gate must have ended.
	Prolong struct {
		Scope    string
		Deadline fence.Instant
	}
	// Hurry replaces the By of a Shut by an earlier instant.
	Hurry struct {
		Scope string
		By    fence.Instant
	}
	// Watch replaces the set of processes whose end the loop waits for.
	Watch struct{ Processes []int64 }
	// Report passes a fact to the log, to Events and to drains that wait for it.
	Report struct{ Fact Fact }
	// Done ends the loop.
	Done struct{}
)

func (Connect) action()    {}
func (Disconnect) action() {}
func (Try) action()        {}
func (Beat) action()       {}
func (Release) action()    {}
func (Enlist) action()     {}
func (Forget) action()     {}
func (Open) action()       {}
func (Enter) action()      {}
func (Extend) action()     {}
func (Suspend) action()    {}
func (Shut) action()       {}
func (Prolong) action()    {}
func (Hurry) action()      {}
func (Watch) action()      {}
func (Report) action()     {}
func (Done) action()       {}
