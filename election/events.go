package election

import (
	"time"

	"github.com/conchhq/conch/fence"
)

// Kind says which fact a [Fact] states.
type Kind string

// The facts, in the order of a life.
const (
	Following Kind = "following" // another process leads; Holder says who
	Stale     Kind = "stale"     // the holder's heartbeats stopped coming; Took says how long ago
	Blocked   Kind = "blocked"   // won, but acts of the previous term still hold the fence; Blockers says which of them cannot be ended
	Evicted   Kind = "evicted"   // such acts were ended; Blockers says whose
	Unled     Kind = "unled"     // nobody has led for Took, three leases at least; Err says what stands in the way
	Acquired  Kind = "acquired"  // the token is minted, the fenced door open
	Entered   Kind = "entered"   // the act door is open
	Late      Kind = "late"      // no heartbeat in time, the gate is shut for now
	Resumed   Kind = "resumed"   // heartbeats are back, the gate is open again
	Failing   Kind = "failed"    // the role failed, and its scope is given up; After is how long others go first
	Draining  Kind = "draining"  // the gate is shut, acts are ending
	Lost      Kind = "lost"      // the leadership ended unasked
	Released  Kind = "released"  // the leadership was given up and all acts had ended
	Abandoned Kind = "abandoned" // it was given up, without that promise
	Unsaid    Kind = "unsaid"    // it was given up, and the mint cannot be told; Err says why. It is tried again
	Barred    Kind = "barred"    // the mint refuses this candidate
	Retrying  Kind = "retrying"  // the mint did not answer; Err and After
	Cautioned Kind = "cautioned" // the mint is reached in a way that costs something; Err says what
)

// Fact is something that happened in an election, as a value.
type Fact struct {
	Kind     Kind
	Scope    string // empty if it concerns all
	Token    fence.Token
	Holder   string        // Following
	Hold     time.Duration // Acquired: until the act door opens
	Handoff  bool          // Acquired: the predecessor had released; Released: a successor need not wait
	Took     time.Duration // Acquired: from the first bid of this campaign; Stale: since the last heartbeat; Unled: since somebody led
	After    time.Duration // Retrying, Failing: the pause; Draining: the time allowed
	Err      error
	Blockers []Blocker
}

// IsTransition reports whether the fact begins or ends a leadership.
func (f Fact) IsTransition() bool {
	switch f.Kind {
	case Acquired, Entered, Lost, Released, Abandoned:
		return true
	default:
		return false
	}
}

// StateChanged is the role of this process in one scope, broadcast whenever it
// changes (requirement S16). It is a fact about the past by the time it is read:
// ask the gate before acting.
type StateChanged struct {
	Scope    string
	IsLeader bool
	Epoch    int64
}

// Bidding is one batch of bids, as it went.
type Bidding struct {
	Scopes  []string // those that the mint tried
	Sent    fence.Instant
	Took    time.Duration
	Results []Result // in the order of Scopes; none after an error
	Err     error
}

// Heartbeat is one renewal of every term that was led, as it went.
type Heartbeat struct {
	Scopes  []string
	Sent    fence.Instant // what the gates' deadlines are anchored on
	Took    time.Duration
	Renewed []bool // in the order of Scopes: the term was renewed; none after an error
	Err     error
}

// Events are called as facts occur: Fact and StateChanged by the elector's own
// goroutine, in order; Beat and Attempt beside it, one at a time, each before the
// facts that follow from it. They must return quickly and must not call back into
// the elector. Nil functions are skipped.
type Events struct {
	// Fact gets every fact.
	Fact func(Fact)
	// StateChanged gets acquired and ended leaderships (S16).
	StateChanged func(StateChanged)
	// Beat gets each heartbeat.
	Beat func(Heartbeat)
	// Attempt gets each batch of bids.
	Attempt func(Bidding)
}
