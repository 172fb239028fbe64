package election

import (
	"time"

	"github.com/conchhq/conch/fence"
)

// Input is an event that the machine takes: what happened outside.
type Input interface{ input() }

// The inputs. Sent is when the request left and is what a deadline is anchored
// on; the machine's now is when the reply was seen.
type (
	// Tick says only that time has passed.
	Tick struct{}
	// Opened answers Connect.
	Opened struct{}
	// Tried answers Try. There may be fewer results than bids: the rest was not tried.
	Tried struct {
		Sent    fence.Instant
		Results []Result
	}
	// Beaten answers Beat, in the order of its pulses.
	Beaten struct {
		Sent    fence.Instant
		Answers []Outcome
	}
	// Parted answers Release, in the order of its farewells; those that are missing were said.
	Parted struct{ Answers []Parting }
	// Enlisted answers Enlist: the mint has done all of it.
	Enlisted struct{}
	// Failed answers any of the five. Lost: the session is gone.
	Failed struct {
		Lost bool
		Err  error
	}
	// Woken is a hint: a process has ended; or a scope was taken by Holder, or is
	// free if there is none; or, with all empty, changes may have been missed.
	Woken struct {
		Process int64
		Scope   string
		Holder  string
	}
	// StepDown asks to give a scope up: the term of that epoch and no later one, or,
	// with an Epoch of 0, whichever is led.
	StepDown struct {
		Scope   string
		Epoch   int64
		Why     error
		How     Ending // EndedByFailure if the role failed
		Actor   string
		To      string
		Timeout time.Duration
	}
	// Several are inputs that came at once, in their order: what they lead to is
	// worked out once. Ten thousand scopes that change hands wake ten thousand times.
	Several struct{ Inputs []Input }
	// Ended says that the role of a shut gate has returned and that no act of it
	// is under way.
	Ended struct{ Scope string }
	// Add begins to campaign for a scope. Where the scope is known, the settings are those of
	// its next term, and a scope that was retired is campaigned for again.
	Add struct{ Seat SeatSettings }
	// Retire ends the campaign for a scope. A term that is under way goes on.
	Retire struct{ Scope string }
	// Rest pauses the campaign for a scope, so that other candidates go first.
	Rest struct {
		Scope string
		For   time.Duration
	}
	// Stop asks to give everything up and end. Why is nil or wraps ErrStepDown.
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
func (Several) input()  {}
func (StepDown) input() {}
func (Ended) input()    {}
func (Add) input()      {}
func (Retire) input()   {}
func (Rest) input()     {}
func (Stop) input()     {}

// Action is what the machine wants done.
type Action interface{ action() }

// The actions. Of Connect, Try, Beat, Release and Enlist at most one is under way at
// a time; each is answered by one input.
type (
	// Connect opens a session with the mint, for a candidate of these scopes.
	Connect struct {
		Scopes  []string
		Longest time.Duration // of their leases
	}
	// Disconnect closes it.
	Disconnect struct{}
	// Try bids.
	Try struct{ Bids []Bid }
	// Beat renews.
	Beat struct{ Pulses []Pulse }
	// Release says farewells.
	Release struct{ Farewells []Farewell }
	// Enlist tells the mint what else this candidate campaigns for, and what no longer.
	Enlist struct{ Roll Roll }
	// Forget drops a scope that was retired and that nothing is left of.
	Forget struct{ Scope string }
	// Open opens a gate and starts the role behind its fenced door.
	Open struct {
		Token    fence.Token
		ActFrom  fence.Instant
		Deadline fence.Instant
	}
	// Enter starts the role behind the act door, which is open now.
	Enter struct{ Token fence.Token }
	// Extend moves a gate's deadline.
	Extend struct {
		Scope    string
		Deadline fence.Instant
	}
	// Suspend shuts a gate until the next Extend.
	Suspend struct{ Scope string }
	// Shut shuts a gate for good and cancels its role; Ended answers it. By is when
	// the role's time to end is up, 0 if it was not asked for.
	Shut struct {
		Token fence.Token
		Why   error
		By    fence.Instant
	}
	// Prolong moves the instant by which what was begun behind a shut gate must have
	// ended.
	Prolong struct {
		Scope    string
		Deadline fence.Instant
	}
	// Hurry brings the end of that time forward.
	Hurry struct {
		Scope string
		By    fence.Instant
	}
	// Watch replaces the set of processes whose end is waited for.
	Watch struct{ Processes []int64 }
	// Report is a fact for whoever observes.
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
